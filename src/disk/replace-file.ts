/**
 * Small files that are read and replaced as a whole.
 */

import { dirname } from "node:path";

import type { Disk } from "./disk.ts";
import { appendAll, readFully } from "./file-bytes.ts";

/**
 * Replaces the file atomically: a reader finds the old content or the new one, also after a loss of power. If it fails,
 * nothing is left beside the file.
 */
export async function replaceFile(disk: Disk, path: string, content: string): Promise<void> {
  const newPath = `${path}.new`;
  await disk.remove(newPath); // A crash may have left part of one.
  try {
    const file = await disk.openToAppend(newPath);
    try {
      await appendAll(file, Buffer.from(content));
      await file.sync();
    } finally {
      await file.close();
    }
    await disk.rename(newPath, path);
  } catch (error) {
    await disk.remove(newPath).catch(() => undefined); // The first failure is the one to tell.
    throw error;
  }
  await disk.syncFolder(dirname(path));
}

/** Resolves to undefined if there is no such file. */
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
