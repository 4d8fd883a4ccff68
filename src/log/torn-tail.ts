/**
 * Putting aside what cannot be used, so that nothing is ever deleted that somebody may still want to look at.
 */

import { dirname } from "node:path";

import type { Disk, DiskFile } from "../disk/disk.ts";
import { appendAll } from "../disk/replace-file.ts";

const chunkBytes = 1_048_576;

/**
 * Moves the bytes from `offset` to the end of the log to `PATH.torn`, behind what an earlier crash left there. They are
 * on disk there before they are cut off here.
 *
 * @returns the name of the file that has them now
 */
export async function setTornTailAside(disk: Disk, path: string, file: DiskFile, offset: number): Promise<string> {
  const asidePath = `${path}.torn`;
  const aside = await disk.openToAppend(asidePath);
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    for (let position = offset, count = 0; (count = await file.read(chunk, position)) > 0; position += count) {
      await appendAll(aside, chunk.subarray(0, count));
    }
    await aside.sync();
    await disk.syncFolder(dirname(path));
  } finally {
    await aside.close();
  }
  await file.truncate(offset);
  await file.sync();
  return asidePath;
}

/** Moves a file that cannot be understood to `PATH.damaged`, over an earlier one. Returns its new name. */
export async function setFileAside(disk: Disk, path: string): Promise<string> {
  const asidePath = `${path}.damaged`;
  await disk.rename(path, asidePath);
  await disk.syncFolder(dirname(path));
  return asidePath;
}
