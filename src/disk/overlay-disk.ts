/**
 * A disk for dry runs over another one, which stays as it is: what is written here stays in memory. Files have the
 * length that they had when they were first opened, so other writers do not disturb.
 *
 * Permissions and free space are checked on the real disk. An existing file is opened as it would be. In place of a
 * file that would be made, or get more bytes, a nameless one beside it is written. The lock is taken and released, and
 * a socket of another name is held in its place.
 */

import { randomBytes } from "node:crypto";
import { dirname, join, resolve } from "node:path";

import type { Disk, DiskFile, Lock } from "./disk.ts";
import { readBytes } from "./file-bytes.ts";

/** The content of a file: the first `keptBytes` of the real one, if there is one, and then `added`. */
interface Content {
  readonly realPath: string | undefined;
  /** A nameless file on the disk, which takes as much space as this one would. */
  readonly trial: DiskFile | undefined;
  keptBytes: number;
  added: Buffer;
}

export class OverlayDisk implements Disk {
  /** Whether `lock` has found that a living process holds the name. Changed here only. */
  isHeld = false;
  readonly #disk: Disk;
  /** The files by absolute path; undefined for one that was removed. */
  readonly #contents = new Map<string, Content | undefined>();
  readonly #madeFolders = new Set<string>();
  /** Open until the lock is released, since a start would need the space of all of them at once. */
  readonly #trials = new Set<DiskFile>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  async openToRead(path: string): Promise<DiskFile | undefined> {
    const absolute = resolve(path);
    const isKnown = this.#contents.has(absolute);
    const realPath = isKnown ? this.#contents.get(absolute)?.realPath : path;
    const real = realPath === undefined ? undefined : await this.#disk.openToRead(realPath);
    if (!isKnown && real !== undefined) { // Its length counts from now on: a server may be writing to it.
      this.#contents.set(absolute, { realPath, trial: undefined, keptBytes: real.size(), added: Buffer.alloc(0) });
    }
    const content = this.#contents.get(absolute);
    return content && this.#fileOf(path, content, real);
  }

  async openToAppend(path: string): Promise<DiskFile> {
    let content = await this.#find(path);
    if (content === undefined) {
      const trial = await this.#openNameless(path);
      this.#trials.add(trial);
      content = { realPath: undefined, trial, keptBytes: 0, added: Buffer.alloc(0) };
      this.#contents.set(resolve(path), content);
    }
    const real = content.realPath === undefined ? undefined : await this.#disk.openToAppend(content.realPath);
    return this.#fileOf(path, content, real);
  }

  async exists(path: string): Promise<boolean> {
    const absolute = resolve(path);
    return this.#contents.has(absolute)
      ? this.#contents.get(absolute) !== undefined
      : this.#madeFolders.has(absolute) || this.#disk.exists(path);
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#end(to);
    this.#contents.set(resolve(to), await this.#find(from));
    this.#contents.set(resolve(from), undefined);
  }

  async remove(path: string): Promise<void> {
    await this.#end(path);
    this.#contents.set(resolve(path), undefined);
  }

  async makeFolder(path: string): Promise<void> {
    const folder = resolve(path);
    const above = dirname(folder);
    if (folder === above || (await this.#disk.exists(folder)) || (await this.linkTarget(folder)) !== undefined) {
      return this.#disk.makeFolder(folder); // It makes nothing: it finds a folder, or fails.
    }
    await this.makeFolder(above);
    this.#madeFolders.add(folder);
  }

  async syncFolder(): Promise<void> {}

  async lock(path: string): Promise<Lock | undefined> {
    const folder = this.#realFolder(path);
    if (folder === resolve(dirname(path))) {
      if (await this.#disk.isLocked(path)) {
        this.isHeld = true;
      } else {
        const lock = await this.#disk.lock(path);
        if (lock === undefined) {
          return undefined;
        }
        await lock.release(); // So that no server finds it taken.
      }
    }
    // It takes as much space as the lock. Should this process die, the next owner of the lock removes the name.
    const trial = this.isHeld
      ? undefined
      : await this.#disk.lock(join(folder, `server.lock.${randomBytes(8).toString("hex")}`));
    const release = async (): Promise<void> => {
      await trial?.release();
      for (const file of this.#trials) {
        await file.close();
      }
      this.#trials.clear();
    };
    return { answer: () => undefined, isInPlace: async () => true, release };
  }

  linkTarget(path: string): Promise<string | undefined> {
    return this.#disk.linkTarget(path);
  }

  async mustBeRemovable(): Promise<void> {}

  isLocked(path: string): Promise<boolean> {
    return this.#disk.isLocked(path);
  }

  reach(path: string): ReturnType<Disk["reach"]> {
    return this.#disk.reach(path);
  }

  async #find(path: string): Promise<Content | undefined> {
    const absolute = resolve(path);
    if (!this.#contents.has(absolute)) {
      await (await this.openToRead(path))?.close();
    }
    return this.#contents.get(absolute);
  }

  #fileOf(path: string, content: Content, real: DiskFile | undefined): DiskFile {
    const openedBytes = content.keptBytes + content.added.length;
    return {
      async read(target, position) {
        const keptBytes = content.keptBytes - position;
        return real !== undefined && keptBytes > 0
          ? real.read(target.subarray(0, keptBytes), position)
          : content.added.subarray(-keptBytes).copy(target);
      },
      append: async (bytes) => {
        const count = await (content.trial?.append(bytes) ?? this.#tryToWrite(path, bytes));
        content.added = Buffer.concat([content.added, bytes.subarray(0, count)]);
        return count;
      },
      async overwrite(bytes, position) {
        await real?.overwrite(Buffer.alloc(0), 0);
        const keptBytes = Math.max(content.keptBytes - position, 0);
        const kept = real === undefined ? Buffer.alloc(0) : await readBytes(real, keptBytes, position);
        content.added = Buffer.concat([kept, content.added]);
        content.keptBytes -= kept.length;
        content.added.set(bytes, position - content.keptBytes);
      },
      async sync() {},
      async truncate(size) {
        content.added = content.added.subarray(0, Math.max(size - content.keptBytes, 0));
        content.keptBytes = Math.min(content.keptBytes, size);
      },
      size: () => openedBytes,
      stat: async () => ({
        isInPlace: this.#contents.get(resolve(path)) === content,
        byteCount: content.keptBytes + content.added.length,
      }),
      async close() {
        await real?.close();
      },
    };
  }

  /** Resolves to how many of the bytes could be written to a file in the place of this one. */
  async #tryToWrite(path: string, bytes: Uint8Array): Promise<number> {
    const file = await this.#openNameless(path);
    return file.append(bytes).finally(() => file.close());
  }

  async #openNameless(path: string): Promise<DiskFile> {
    let place = path; // Where the file would be made: a link may lead to another folder.
    for (let target: string | undefined; (target = await this.linkTarget(place)) !== undefined; ) {
      place = target;
    }
    const name = join(this.#realFolder(place), `animal-store-check-${randomBytes(8).toString("hex")}`);
    const file = await this.#disk.openToAppend(name);
    await this.#disk.remove(name).catch(async (error: unknown) => {
      await file.close();
      throw error;
    });
    return file;
  }

  /** Prepares for the name to lose its file: checks that it may, or closes the file's trial. */
  async #end(path: string): Promise<void> {
    const content = await this.#find(path);
    if (content?.realPath !== undefined) {
      await this.#disk.mustBeRemovable(content.realPath);
    } else if (content?.trial !== undefined) {
      this.#trials.delete(content.trial);
      await content.trial.close();
    }
  }

  /** The folder of the path, or the nearest one above it that is on the disk, and not only in `#madeFolders`. */
  #realFolder(path: string): string {
    const folder = dirname(resolve(path));
    return this.#madeFolders.has(folder) ? this.#realFolder(folder) : folder;
  }
}
