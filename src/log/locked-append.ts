/**
 * Appending to a log that several processes write: each append under a lock of that file's own.
 */

import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { Lock, Disk, DiskFile } from "../disk/disk.ts";
import { lineBytesMax } from "./reader.ts";
import { appendAll } from "../disk/replace-file.ts";
import { setTornTailAside } from "./torn-tail.ts";
import { writeEndAgain } from "./write-again.ts";

/** Whoever holds the lock writes a line and syncs it; on a slow disk that takes a while. */
const waitMs = 10;
const attemptsMax = 1_000;

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
 * @throws {Error} when others hold the lock for ten seconds on end, or the disk fails. Then nothing was appended, but
 *   where the disk refuses even to cut it off again
 */
export async function updateUnderLock(disk: Disk, path: string, decide: () => Promise<LogUpdate>): Promise<void> {
  const lock = await lockPatiently(disk, `${path}.lock`);
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
    throw new Error(`${path} has ${foundBytes} bytes instead of ${lengthBytes}: another hand has written to it`);
  }
  if (foundBytes > lengthBytes) {
    await setTornTailAside(disk, path, file, lengthBytes);
  }
  await writeEndAgain(disk, path, file, { lengthBytes, bytesMax: lineBytesMax + 1 });
}

async function lockPatiently(disk: Disk, path: string): Promise<Lock> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const lock = await disk.lock(path);
    if (lock !== undefined) {
      return lock;
    }
    await delay(waitMs);
  }
  throw new Error(`Cannot lock ${path}: others have held it for ${(waitMs * attemptsMax) / 1_000} s`);
}
