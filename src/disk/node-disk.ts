/**
 * The disk of this machine, through Node's callback functions.
 */

import * as fs from "node:fs";
import { dirname, resolve } from "node:path";

import type { Disk, DiskFile, FileStatus } from "./disk.ts";
import { counted, undefinedIfAbsent } from "./error-message.ts";

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = fs.constants;

/** Only the owner may read keys and catalogue. */
const fileMode = 0o600;
const folderMode = 0o700;

export const nodeDisk: Disk = {
  openToRead: (path) => undefinedIfAbsent(openFile(path, O_RDONLY)),
  openToAppend: (path) => openFile(path, O_RDWR | O_APPEND | O_CREAT),
  overwrite,
  status: (path) => undefinedIfAbsent(statusOf(path)),
  rename: (from, to) => done((callback) => fs.rename(from, to, callback)),
  remove: (path) => undefinedIfAbsent(done((callback) => fs.unlink(path, callback))),
  makeFolder,
  syncFolder,
  // Loaded on use: commands that only read need no sockets.
  lock: async (path, waitMs) => (await import("./lock.ts")).lock(path, waitMs),
  isLocked: async (path) => (await import("./lock.ts")).isLocked(path),
};

class NodeFile implements DiskFile {
  readonly #path: string;
  readonly #descriptor: number;
  readonly #identity: fs.Stats;

  constructor(path: string, descriptor: number) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.#identity = fs.fstatSync(descriptor);
  }

  read(target: Uint8Array, position: number): Promise<number> {
    return result((callback) => fs.read(this.#descriptor, target, 0, target.length, position, callback));
  }

  /**
   * Synchronous inside: the system copies the bytes into its memory, and only `sync` waits for the disk. Through
   * another thread a group of appends takes 7 % longer.
   */
  append(bytes: Uint8Array): Promise<number> {
    return new Promise((resolve) => resolve(fs.writeSync(this.#descriptor, bytes)));
  }

  sync(): Promise<void> {
    return done((callback) => fs.fdatasync(this.#descriptor, callback));
  }

  truncate(size: number): Promise<void> {
    return done((callback) => fs.ftruncate(this.#descriptor, size, callback));
  }

  size(): number {
    return fs.fstatSync(this.#descriptor).size;
  }

  isInPlace(): boolean {
    const { dev, ino } = this.#identity;
    const found = fs.statSync(this.#path, { throwIfNoEntry: false });
    return found !== undefined && found.ino === ino && found.dev === dev;
  }

  close(): Promise<void> {
    return done((callback) => fs.close(this.#descriptor, callback));
  }
}

/** Without O_NONBLOCK, opening a named pipe would wait for a writer, perhaps for ever. */
async function openFile(path: string, flags: number): Promise<DiskFile> {
  const descriptor = await result<number>((callback) => fs.open(path, flags | O_NONBLOCK, fileMode, callback));
  if (fs.fstatSync(descriptor).isFIFO()) {
    await done((callback) => fs.close(descriptor, callback));
    throw Object.assign(new Error(`${path} is a named pipe, not a file`), { code: "EINVAL", path });
  }
  return new NodeFile(path, descriptor);
}

/** Through its own descriptor: on Linux, one with O_APPEND writes at the end at any position. */
async function overwrite(path: string, bytes: Uint8Array, position: number): Promise<void> {
  const descriptor = await result<number>((callback) => fs.open(path, O_WRONLY, callback));
  try {
    const count = await result<number>((callback) => {
      fs.write(descriptor, bytes, 0, bytes.length, position, callback);
    });
    if (count !== bytes.length) {
      throw new Error(`only ${count} of ${counted(bytes.length, "byte")} could be written`);
    }
  } finally {
    await done((callback) => fs.close(descriptor, callback));
  }
}

async function statusOf(path: string): Promise<FileStatus> {
  const { size, mtimeMs, ino } = await result<fs.Stats>((callback) => fs.stat(path, callback));
  return { size, modifiedMs: mtimeMs, inode: ino };
}

/**
 * A new folder is a name in the one above it, which must be synced, or a loss of power removes the folder with all its
 * files. One by one: Node's `recursive` never returns in a place like /proc, where no folder can be made.
 */
async function makeFolder(path: string): Promise<void> {
  const missing: string[] = [];
  for (let folder = resolve(path); !(await isFolder(folder)); folder = dirname(folder)) {
    missing.unshift(folder);
  }
  for (const folder of missing) {
    try {
      await done((callback) => fs.mkdir(folder, folderMode, callback));
    } catch (error) {
      if (!(await isFolder(folder))) {
        throw error;
      }
    }
    await syncFolder(dirname(folder)); // Also if another process has just made it: it may not be synced yet.
  }
}

async function isFolder(path: string): Promise<boolean> {
  const stats = await undefinedIfAbsent(result<fs.Stats>((callback) => fs.stat(path, callback)));
  return stats?.isDirectory() ?? false;
}

async function syncFolder(path: string): Promise<void> {
  const descriptor = await result<number>((callback) => fs.open(path, O_RDONLY, callback));
  try {
    await done((callback) => fs.fsync(descriptor, callback));
  } finally {
    await done((callback) => fs.close(descriptor, callback));
  }
}

function done(start: (callback: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error === null ? resolve() : reject(error)));
  });
}

function result<Value>(start: (callback: (error: Error | null, value: Value) => void) => void): Promise<Value> {
  return new Promise((resolve, reject) => {
    start((error, value) => (error === null ? resolve(value) : reject(error)));
  });
}
