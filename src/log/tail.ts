import { dirname } from "node:path";

import type { Disk, DiskFile } from "../disk/disk.ts";
import { appendAll, readFully } from "../disk/file-bytes.ts";

/**
 * Moves the bytes from `offset` to the end of the log to the end of `PATH.torn`, and returns that path. They are on
 * disk there before the log is truncated. If the copy fails it is undone, so that attempts on a full disk take no
 * space.
 */
export async function setTornTailAside(disk: Disk, path: string, file: DiskFile, offset: number): Promise<string> {
  const asidePath = `${path}.torn`;
  const tail = Buffer.allocUnsafe(Math.max(file.size() - offset, 0));
  const tailBytes = await readFully(file, tail, offset);
  const aside = await disk.openToAppend(asidePath);
  try {
    const sizeBefore = aside.size();
    try {
      await appendAll(aside, tail.subarray(0, tailBytes));
      await aside.sync();
      await disk.syncFolder(dirname(path));
    } catch (error) {
      const undoing = sizeBefore === 0 ? disk.remove(asidePath) : aside.truncate(sizeBefore);
      await undoing.catch(() => undefined); // The first failure is the one to report.
      throw error;
    }
  } finally {
    await aside.close();
  }
  await file.truncate(offset);
  await file.sync();
  return asidePath;
}

/**
 * Writes the last `bytesMax` of the first `lengthBytes` of a log over themselves. Not durable before a sync.
 *
 * A failed sync leaves its bytes in the kernel's memory, marked as written, and later syncs skip them (PostgreSQL's
 * "fsyncgate"). Whoever opens a log does not know whether that happened to the last group, and a sound line after a
 * hole would look like corruption. Bytes that are written again belong to the next sync.
 */
export async function rewriteTail(
  disk: Disk,
  path: string,
  file: DiskFile,
  { lengthBytes, bytesMax }: { readonly lengthBytes: number; readonly bytesMax: number },
): Promise<void> {
  const tail = Buffer.allocUnsafe(Math.min(lengthBytes, bytesMax));
  if (tail.length > 0) {
    const position = lengthBytes - tail.length;
    const count = await readFully(file, tail, position);
    await disk.overwrite(path, tail.subarray(0, count), position);
  }
}
