import { dirname } from "node:path";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import type { Disk } from "./disk.ts";
import { appendAll, readFully } from "./file-bytes.ts";

/** Atomically: a reader finds the old content or the new one, also after a loss of power or a failure. */
export async function replaceFile(disk: Disk, path: string, pieces: Iterable<string>): Promise<void> {
  const newPath = `${path}.new`;
  await disk.remove(newPath); // A crash may have left half of one.
  try {
    await writeFile(disk, newPath, pieces);
    await disk.rename(newPath, path);
  } catch (error) {
    await disk.remove(newPath).catch(() => undefined); // If it fails, the next attempt begins with it.
    throw error;
  }
  await disk.syncFolder(dirname(path));
}

/** Writes and syncs a new file. The event loop has a turn after each piece. The file's name is not synced. */
export async function writeFile(
  disk: Disk,
  path: string,
  pieces: Iterable<string | Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<void> {
  const file = await disk.openToAppend(path);
  try {
    for await (const piece of pieces) {
      await appendAll(file, Buffer.from(piece));
      await eventLoopTurn();
    }
    await file.sync();
  } finally {
    await file.close();
  }
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
