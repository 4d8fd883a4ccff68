/**
 * Small files that are read and replaced as a whole.
 */

import { dirname } from "node:path";

import type { Disk } from "./disk.ts";
import { readFully } from "./log-reader.ts";
import { appendAll } from "./set-aside.ts";

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
