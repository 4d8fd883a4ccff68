/**
 * A disk for dry runs over another one, which stays as it is: what is written here is dropped, and only the names are
 * remembered that were made or removed. A file has the length that it had when it was opened, so other writers do not
 * disturb.
 *
 * Permissions are checked on the real disk: an existing file is opened as it would be, and the lock, which needs the
 * right to make files, is taken and released.
 */

import { randomBytes } from "node:crypto";
import { dirname, join, resolve } from "node:path";

import type { Disk, DiskFile, Lock } from "./disk.ts";

export class DryDisk implements Disk {
  /** Whether `lock` has found that a living process holds the name. Changed here only. */
  isHeld = false;
  readonly #disk: Disk;
  /** By absolute path: true if the file or folder was made here, false if it was removed. */
  readonly #isThere = new Map<string, boolean>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  async openToRead(path: string): Promise<DiskFile | undefined> {
    const real = this.#isThere.has(resolve(path)) ? undefined : await this.#disk.openToRead(path);
    return real && fileOver(real);
  }

  async openToAppend(path: string): Promise<DiskFile> {
    if (!this.#isThere.has(resolve(path))) {
      if (await this.#disk.exists(path)) {
        return fileOver(await this.#disk.openToAppend(path));
      }
      const target = await this.linkTarget(path);
      if (target !== undefined) {
        await this.#disk.openToRead(path); // Throws for root, who follows no link. For all others the target is made.
        if (!(await this.exists(dirname(target)))) { // For instance on a volume that is not mounted.
          const error = new Error(`ENOENT: no such file or directory, open '${path}'`);
          throw Object.assign(error, { code: "ENOENT", syscall: "open", path });
        }
        return this.openToAppend(target);
      }
    }
    this.#isThere.set(resolve(path), true);
    return fileOver(undefined);
  }

  async exists(path: string): Promise<boolean> {
    return this.#isThere.get(resolve(path)) ?? this.#disk.exists(path);
  }

  async rename(from: string, to: string): Promise<void> {
    this.#isThere.set(resolve(from), false).set(resolve(to), true);
  }

  async remove(path: string): Promise<void> {
    this.#isThere.set(resolve(path), false);
  }

  async makeFolder(path: string): Promise<void> {
    const folder = resolve(path);
    const above = dirname(folder);
    if (folder === above || (await this.#disk.exists(folder)) || (await this.linkTarget(folder)) !== undefined) {
      return this.#disk.makeFolder(folder); // It makes nothing: it finds a folder, or fails.
    }
    await this.makeFolder(above);
    this.#isThere.set(folder, true);
  }

  async syncFolder(): Promise<void> {}

  /** If a living process holds the name, goes on as if it were free, and sets `isHeld`. */
  async lock(path: string): Promise<Lock | undefined> {
    const folder = this.#realFolder(path);
    const isThere = folder === resolve(dirname(path));
    if (isThere && (await this.#disk.isLocked(path))) {
      this.isHeld = true;
    } else {
      const name = isThere ? path : join(folder, `server.lock.${randomBytes(8).toString("hex")}`);
      const lock = await this.#disk.lock(name);
      if (lock === undefined) {
        return undefined;
      }
      await lock.release(); // So that no server finds it taken.
    }
    return { answer: () => undefined, isInPlace: async () => true, release: async () => undefined };
  }

  linkTarget(path: string): Promise<string | undefined> {
    return this.#disk.linkTarget(path);
  }

  isLocked(path: string): Promise<boolean> {
    return this.#disk.isLocked(path);
  }

  reach(path: string): ReturnType<Disk["reach"]> {
    return this.#disk.reach(path);
  }

  /** The folder of the path, or the nearest one above it that is on the disk. */
  #realFolder(path: string): string {
    const folder = dirname(resolve(path));
    return this.#isThere.get(folder) === true ? this.#realFolder(folder) : folder;
  }
}

function fileOver(real: DiskFile | undefined): DiskFile {
  const openedBytes = real?.size() ?? 0;
  let byteCount = openedBytes;
  return {
    read: async (target, position) => real?.read(target, position) ?? 0,
    append: async ({ length }) => {
      byteCount += length;
      return length;
    },
    overwrite: async () => undefined,
    sync: async () => undefined,
    truncate: async (size) => void (byteCount = size),
    size: () => openedBytes,
    stat: async () => ({ isInPlace: true, byteCount }),
    close: async () => real?.close(),
  };
}
