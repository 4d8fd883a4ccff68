/**
 * The disk of the machine, by node:fs. Agents that watch a program, package managers and Node's permission model wrap
 * or forbid functions of node:fs, so this file relies on no more than what is documented of each:
 *
 * - `read`, `write`, `fstat`, `ftruncate`, `fsync` and `fdatasync` on a descriptor, each through its callback. A count
 *   that no file can have is an error, so that no wrapper makes a file look empty.
 * - `open`, `stat`, `lstat`, `readlink`, `mkdir`, `rename` and `unlink` of node:fs/promises; of a handle `fd`, `close`,
 *   and `sync` and `datasync` where `fsync` and `fdatasync` are forbidden.
 */

import * as fs from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, rename, stat, unlink } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { hasCode } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import type { Disk, DiskFile } from "./disk.ts";
import { explain, undefinedIfAbsent, withPath } from "./file-errors.ts";
import { isLocked, lock, reach } from "./lock.ts";
import { isRoot, refuseRoot, refuseRootFile } from "./owner.ts";

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = fs.constants;

type Callback<Value> = (error: Error | null, value: Value) => void;

/** A promise of a call with a callback. `promisify` would need more of a function than its documented call. */
function promised<Value = void>(call: (done: Callback<Value>) => void): Promise<Value> {
  return new Promise((resolve, reject) => call((error, value) => (error ? reject(error) : resolve(value))));
}

/** @throws {Error} the call has returned something else than a number of bytes, `byteCount` at most */
async function checkedCount(call: string, byteCount: number, counting: Promise<number>): Promise<number> {
  const count = await counting;
  if (!Number.isInteger(count) || count < 0 || count > byteCount) {
    const from = `fs.${call} of ${byteCount} bytes has returned ${String(count)}, which is no number of bytes`;
    throw new Error(`${from}: whatever replaces it in this process is broken`);
  }
  return count;
}

async function read(descriptor: number, target: Uint8Array, position: number): Promise<number> {
  const { length } = target;
  return checkedCount("read", length, promised((done) => fs.read(descriptor, target, 0, length, position, done)));
}

/** @param position null: at the end */
async function write(descriptor: number, bytes: Uint8Array, position: number | null): Promise<number> {
  const { length } = bytes;
  return checkedCount("write", length, promised((done) => fs.write(descriptor, bytes, 0, length, position, done)));
}

const fstat = (descriptor: number): Promise<fs.Stats> => promised((done) => fs.fstat(descriptor, done));

/** Only the owner may read keys and catalogue. */
const fileMode = 0o600;
const folderMode = 0o700;

export const nodeDisk: Disk = {
  openToRead: (path) => withPath(path, undefinedIfAbsent(openFile(path, O_RDONLY))),
  openToAppend: (path) => withPath(path, openFile(path, O_RDWR | O_APPEND | O_CREAT)),
  exists: async (path) => (await withPath(path, undefinedIfAbsent(stat(path)))) !== undefined,
  linkTarget,
  rename: (from, to) => withPath(from, rename(from, to)),
  remove: (path) => withPath(path, undefinedIfAbsent(unlink(path))),
  makeFolder: (path) => withPath(path, makeFolder(path)),
  syncFolder: (path) => withPath(path, syncFolder(path)),
  lock,
  isLocked,
  reach,
};

/** @param stats those of the file when it was opened */
function nodeFile(path: string, handle: FileHandle, { dev, ino, size }: fs.Stats): DiskFile {
  const descriptor = handle.fd; // The methods of a FileHandle take longer.
  const isSame = (found: fs.Stats): boolean => found.ino === ino && found.dev === dev;
  return {
    read: (target, position) => withPath(path, read(descriptor, target, position)),
    append: (bytes) => withPath(path, write(descriptor, bytes, null)),
    /** Writes through another handle: on Linux, one with O_APPEND writes at the end whatever the position. */
    async overwrite(bytes, position) {
      const other = await open(path, O_WRONLY | O_NONBLOCK);
      try {
        if (!isSame(await fstat(other.fd))) {
          throw new Error(`${path} leads to another file`);
        }
        const count = await write(other.fd, bytes, position);
        if (count !== bytes.length) {
          throw new Error(`only ${count} of ${pluralize(bytes.length, "byte")} could be written`);
        }
      } catch (error) {
        throw await explain(error, path);
      } finally {
        await other.close();
      }
    },
    sync: () => withPath(path, sync(handle, "datasync")),
    truncate: (size) => withPath(path, promised((done) => fs.ftruncate(descriptor, size, done))),
    size: () => size,
    async stat() {
      const found = await undefinedIfAbsent(stat(path)).catch((error: unknown) => {
        if (!hasCode(error, "ENOTDIR")) { // Otherwise a file has taken the place of the folder.
          throw error;
        }
      });
      return found !== undefined && isSame(found)
        ? { isInPlace: true, byteCount: found.size }
        : { isInPlace: false, byteCount: (await fstat(descriptor)).size };
    },
    close: () => handle.close(),
  };
}

/** Root follows no link: whoever can write to the folder may have made it. */
async function openFile(path: string, flags: number): Promise<DiskFile> {
  const { handle, stats } = await openAtOnce(path, flags | (isRoot() ? O_NOFOLLOW : 0));
  try {
    await refuseRootFile(path, stats);
  } catch (error) {
    await handle.close();
    throw error;
  }
  return nodeFile(path, handle, stats);
}

/**
 * Without O_NONBLOCK, opening a named pipe would wait for a writer. A folder is opened, but cannot be read.
 * @throws {Error} it is neither a file nor a folder
 */
export async function openAtOnce(
  path: string,
  flags = O_RDONLY,
): Promise<{ readonly handle: FileHandle; readonly stats: fs.Stats }> {
  const handle = await open(path, flags | O_NONBLOCK, fileMode);
  const stats = await fstat(handle.fd);
  if (!stats.isFile() && !stats.isDirectory()) {
    await handle.close();
    throw Object.assign(new Error(`${path} is a named pipe or a device, not a file`), { code: "EINVAL", path });
  }
  return { handle, stats };
}

/**
 * Yarn's Plug'n'Play can sync only by the descriptor, and many releases of Node's permission model only by the
 * handle. A sync that was refused has not begun, so another may follow; after one that failed it would prove nothing.
 */
async function sync(handle: FileHandle, call: "sync" | "datasync"): Promise<void> {
  try {
    await promised((done) => (call === "sync" ? fs.fsync : fs.fdatasync)(handle.fd, done));
  } catch (error) {
    if (!hasCode(error, "ERR_ACCESS_DENIED")) {
      throw error;
    }
    await handle[call]();
  }
}

async function linkTarget(path: string): Promise<string | undefined> {
  const found = await undefinedIfAbsent(lstat(path));
  return found?.isSymbolicLink() === true ? resolve(dirname(path), await readlink(path)) : undefined;
}

/**
 * The folder above a new one must be synced, or a loss of power removes the new one with all its files. Folders are
 * made one by one, since Node's `recursive` never returns in a place like /proc, where none can be made.
 */
async function makeFolder(path: string): Promise<void> {
  await refuseRoot(path);
  const folder = resolve(path);
  if (await isFolder(folder)) {
    return;
  }
  await makeFolder(dirname(folder));
  try {
    await mkdir(folder, folderMode);
  } catch (error) {
    if (!(await isFolder(folder))) {
      // For instance a link to a volume that is not mounted.
      const reason = `${folder} is not a folder, nor a link to one`;
      throw hasCode(error, "EEXIST") ? Object.assign(new Error(reason), { code: "EEXIST", path: folder }) : error;
    }
  }
  await syncFolder(dirname(folder)); // Also if another process has just made it: it may not be synced yet.
}

async function isFolder(path: string): Promise<boolean> {
  const stats = await undefinedIfAbsent(stat(path));
  return stats?.isDirectory() ?? false;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, O_RDONLY);
  try {
    await sync(folder, "sync");
  } finally {
    await folder.close();
  }
}
