/**
 * Small files that are read and replaced as a whole.
 */

import { dirname } from "node:path";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import type { Disk, DiskFile } from "./disk.ts";

/**
 * Replaces the file atomically: a reader finds the old content or the new one, after a loss of power too. If it fails,
 * nothing is left of the new content.
 *
 * @param pieces the new content; the event loop has a turn after each piece
 */
export async function replaceFile(disk: Disk, path: string, pieces: Iterable<string>): Promise<void> {
  const newPath = `${path}.new`;
  await disk.remove(newPath); // A crash may have left half of one.
  try {
    await writeFile(disk, newPath, pieces);
    await disk.rename(newPath, path);
  } catch (error) {
    // The first error is the one to report; a file that cannot be removed now is removed before the next attempt.
    await disk.remove(newPath).catch(() => undefined);
    throw error;
  }
  await disk.syncFolder(dirname(path));
}

async function writeFile(disk: Disk, path: string, pieces: Iterable<string>): Promise<void> {
  const file = await disk.openToAppend(path);
  try {
    for (const piece of pieces) {
      await appendAll(file, Buffer.from(piece));
      await eventLoopTurn();
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Undefined where there is no such file. */
export async function readWholeFile(disk: Disk, path: string): Promise<Buffer | undefined> {
  const file = await disk.openToRead(path);
  if (file === undefined) {
    return undefined;
  }
  try {
    const content = Buffer.alloc(file.size());
    return content.subarray(0, await readFully(file, content, 0));
  } finally {
    await file.close();
  }
}

export type ReadableFile = Pick<DiskFile, "read" | "size">;

/** Reads until `target` is full or the file ends; how many bytes came. */
export async function readFully(file: ReadableFile, target: Uint8Array, position: number): Promise<number> {
  let filled = 0;
  while (filled < target.length) {
    const count = await file.read(target.subarray(filled), position + filled);
    if (count === 0) {
      break;
    }
    filled += count;
  }
  return filled;
}

/** @throws {Error} when the disk takes less, as a full one does */
export async function appendAll(file: DiskFile, bytes: Uint8Array): Promise<void> {
  const count = await file.append(bytes);
  if (count !== bytes.length) {
    throw new Error(`only ${count} of ${bytes.length} bytes could be written; the disk may be full`);
  }
}
