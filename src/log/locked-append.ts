/**
 * Appending to a log that several processes write: each append under a lock of that file's own.
 */

import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { Claim, Disk, DiskFile } from "./disk.ts";
import { readFully } from "./log-reader.ts";
import { appendAll, setTornEndAside } from "./set-aside.ts";

const newline = 0x0a;
/** Whoever holds the lock writes a line and syncs it; on a slow disk that takes a while. */
const waitMs = 10;
const attemptsMax = 1_000;

/**
 * `decide` runs under the lock, can read what is there, and returns sealed lines to append; none: nothing is written.
 * They are on disk when this resolves. An end that a writer left unfinished is set aside first.
 *
 * @throws {Error} when others hold the lock for ten seconds on end, or the disk fails; then nothing was appended
 */
export async function updateUnderLock(
  disk: Disk,
  path: string,
  decide: () => Promise<readonly string[]>,
): Promise<void> {
  const lock = await claimPatiently(disk, `${path}.lock`);
  try {
    const lines = await decide();
    if (lines.length > 0) {
      await append(disk, path, Buffer.from(lines.join("")));
    }
  } finally {
    await lock.release();
  }
}

async function append(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const file = await disk.openToAppend(path);
  try {
    const lengthBytes = await cutUnfinishedLine(disk, path, file);
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

/** Under the lock nobody is writing: a last line without newline is what a writer left that died. */
async function cutUnfinishedLine(disk: Disk, path: string, file: DiskFile): Promise<number> {
  const sizeBytes = file.size();
  const last = Buffer.alloc(Math.min(sizeBytes, 65_536));
  await readFully(file, last, sizeBytes - last.length);
  const lengthBytes = sizeBytes - last.length + last.lastIndexOf(newline) + 1;
  if (lengthBytes < sizeBytes) {
    await setTornEndAside(disk, path, file, lengthBytes);
  }
  return lengthBytes;
}

async function claimPatiently(disk: Disk, path: string): Promise<Claim> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const lock = await disk.claim(path);
    if (lock !== undefined) {
      return lock;
    }
    await delay(waitMs);
  }
  throw new Error(`Cannot lock ${path}: others have held it for ${(waitMs * attemptsMax) / 1_000} s`);
}
