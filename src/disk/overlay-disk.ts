/**
 * A disk over another one that keeps what is written in memory: who works on it does what it would do, and nothing is
 * changed. Files are read as they were when they were first opened, so who writes to them meanwhile does not disturb.
 *
 * Rights and room are tried for real. A file that is there is opened as it would be. For one that would be made, or get
 * more bytes, a nameless one beside it does. A lock is taken and released at once.
 */

import { randomBytes } from "node:crypto";
import { lstatSync, readlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import type { Disk, DiskFile, Lock } from "./disk.ts";
import { readBytes } from "./file-bytes.ts";

/** The first `keptBytes` of the real file, if there is one, and what follows them. */
interface Content {
  readonly realPath: string | undefined;
  keptBytes: number;
  added: Buffer;
}

export class OverlayDisk implements Disk {
  /** Whether a living process holds a name that was locked here. Changed here only. */
  isHeld = false;
  readonly #disk: Disk;
  /** By the absolute path. Undefined: it was removed. */
  readonly #contents = new Map<string, Content | undefined>();
  readonly #madeFolders = new Set<string>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  async openToRead(path: string): Promise<DiskFile | undefined> {
    const absolute = resolve(path);
    const isKnown = this.#contents.has(absolute);
    const realPath = isKnown ? this.#contents.get(absolute)?.realPath : path;
    const real = realPath === undefined ? undefined : await this.#disk.openToRead(realPath);
    if (!isKnown && real !== undefined) { // Opened once: a server may replace it now.
      this.#contents.set(absolute, { realPath, keptBytes: real.size(), added: Buffer.alloc(0) });
    }
    const content = this.#contents.get(absolute);
    return content && this.#fileOf(path, content, real);
  }

  async openToAppend(path: string): Promise<DiskFile> {
    let content = await this.#find(path);
    if (content === undefined) {
      await this.#tryToWrite(path, Buffer.alloc(0));
      content = { realPath: undefined, keptBytes: 0, added: Buffer.alloc(0) };
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
    this.#contents.set(resolve(to), await this.#find(from));
    this.#contents.set(resolve(from), undefined);
  }

  async remove(path: string): Promise<void> {
    this.#contents.set(resolve(path), undefined);
  }

  async makeFolder(path: string): Promise<void> {
    const folder = resolve(path);
    const above = dirname(folder);
    if (folder === above || (await this.#disk.exists(folder)) || isLink(folder)) {
      return this.#disk.makeFolder(folder); // It makes nothing: it finds a folder, or fails.
    }
    await this.makeFolder(above);
    this.#madeFolders.add(folder);
  }

  async syncFolder(): Promise<void> {}

  async lock(path: string): Promise<Lock | undefined> {
    const folder = this.#realFolder(path);
    // In a folder that would be made, its place is tried. Should this process die, the next owner removes the name.
    const isPlace = folder !== resolve(dirname(path));
    const name = isPlace ? join(folder, `server.lock.${randomBytes(8).toString("hex")}`) : path;
    if (!isPlace && (await this.#disk.isLocked(name))) {
      this.isHeld = true;
    } else {
      const lock = await this.#disk.lock(name);
      if (lock === undefined) {
        return undefined;
      }
      await lock.release();
    }
    return { answer: () => undefined, isInPlace: async () => true, release: async () => undefined };
  }

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
        const count = await this.#tryToWrite(path, bytes);
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
    const name = `animal-store-check-${randomBytes(8).toString("hex")}`;
    const nameless = join(this.#realFolder(target(path)), name);
    const file = await this.#disk.openToAppend(nameless);
    try {
      await this.#disk.remove(nameless);
      return await file.append(bytes);
    } finally {
      await file.close();
    }
  }

  /** The folder of the path, or the nearest above it that is not one of those that would be made. */
  #realFolder(path: string): string {
    const folder = dirname(resolve(path));
    return this.#madeFolders.has(folder) ? this.#realFolder(folder) : folder;
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** Where the file would be made: a link may lead to another folder. */
function target(path: string): string {
  return isLink(path) ? target(resolve(dirname(path), readlinkSync(path))) : path;
}
