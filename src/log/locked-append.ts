/**
 * Appending to a log that several processes write: each append under a lock of that file's own.
 */

import { dirname } from "node:path";

import type { Disk, DiskFile } from "../disk/disk.ts";
import { lineBytesMax } from "./reader.ts";
import { appendAll } from "../disk/replace-file.ts";
import { setTornTailAside } from "./torn-tail.ts";
import { writeEndAgain } from "./write-again.ts";

/** A holder writes one line and syncs it. On a slow disk that takes a while; a stopped process takes for ever. */
const holderWaitMs = 10_000;

export interface LogUpdate {
  /** Sealed lines to append. There may be none: what was read is on disk all the same when the update resolves. */
  readonly lines: readonly string[];
  /** Of the sound part: what stands behind it is an end that a writer left unfinished, and is set aside first. */
  readonly lengthBytes: number;
}

/**
 * `decide` runs under the lock, so that it can read what is there. When this resolves its lines are on disk, and so is
 * what it read.
 *
 * @throws {Error} if another process holds the lock for ten seconds, or the disk fails. Then nothing was appended,
 *   unless the disk refuses even to truncate it again
 */
export async function updateUnderLock(disk: Disk, path: string, decide: () => Promise<LogUpdate>): Promise<void> {
  const lock = await disk.lock(`${path}.lock`, holderWaitMs);
  if (lock === undefined) {
    throw new Error(`Cannot lock ${path}: another process has held the lock for ${holderWaitMs / 1_000} s`);
  }
  try {
    const { lines, lengthBytes } = await decide();
    await append(disk, path, lengthBytes, Buffer.from(lines.join("")));
  } finally {
    await lock.release();
  }
}

async function append(disk: Disk, path: string, lengthBytes: number, bytes: Uint8Array): Promise<void> {
  const file = await disk.openToAppend(path);
  try {
    await makeReady(disk, path, file, lengthBytes);
    try {
      await appendAll(file, bytes);
      await file.sync();
      await disk.syncFolder(dirname(path));
      if (!file.isInPlace()) {
        throw new Error(`${path} leads to another file now: another process modified or replaced it`);
      }
    } catch (error) {
      await file.truncate(lengthBytes);
      await file.sync(); // Or a loss of power could bring back what was refused.
      throw error;
    }
  } finally {
    await file.close();
  }
}

async function makeReady(disk: Disk, path: string, file: DiskFile, lengthBytes: number): Promise<void> {
  const foundBytes = file.size();
  if (foundBytes < lengthBytes) {
    const difference = `${foundBytes} bytes instead of ${lengthBytes}`;
    throw new Error(`${path} has ${difference}: another process modified or replaced it`);
  }
  if (foundBytes > lengthBytes) {
    await setTornTailAside(disk, path, file, lengthBytes);
  }
  await writeEndAgain(disk, path, file, { lengthBytes, bytesMax: lineBytesMax + 1 });
}
