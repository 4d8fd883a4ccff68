/**
 * Small files that are read and replaced as a whole.
 */

import { dirname } from "node:path";

import type { Disk, DiskFile } from "./disk.ts";

/** Atomically: whoever reads finds the old content or the new one, after a loss of power too. */
export async function replaceFile(disk: Disk, path: string, content: string): Promise<void> {
  const newPath = `${path}.new`;
  await disk.remove(newPath); // A crash or a full disk may have left half of one.
  const file = await disk.openToAppend(newPath);
  try {
    await appendAll(file, Buffer.from(content));
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.rename(newPath, path);
  await disk.syncFolder(dirname(path));
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
