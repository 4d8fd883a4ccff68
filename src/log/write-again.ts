/**
 * Writing the end of a log over with itself, before anything is written behind it.
 *
 * A sync that failed leaves what it was to bring to the disk in the kernel's memory, taken for written, and later syncs
 * leave it out (PostgreSQL's "fsyncgate"). Whoever finds a log does not know whether that happened to the last thing in
 * it, and a sound line behind a hole would show damage that no crash could have done. Once written again it belongs to
 * the next sync. The bytes are the same, so a loss of power in the middle changes nothing.
 */

import type { Disk, DiskFile } from "../disk/disk.ts";
import { readFully } from "../disk/replace-file.ts";

/** The last `bytesMax` of the first `lengthBytes` of the log, or all of them. Not durable before a sync. */
export async function writeEndAgain(
  disk: Disk,
  path: string,
  file: DiskFile,
  { lengthBytes, bytesMax }: { readonly lengthBytes: number; readonly bytesMax: number },
): Promise<void> {
  const end = Buffer.allocUnsafe(Math.min(lengthBytes, bytesMax));
  if (end.length > 0) {
    const position = lengthBytes - end.length;
    const count = await readFully(file, end, position);
    await disk.overwrite(path, end.subarray(0, count), position);
  }
}
