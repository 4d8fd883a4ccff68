/**
 * Fills a folder with several files at once, or with none. Their names cannot appear at one instant, so a marker file
 * is in the folder until all have theirs. While it is there, also after a crash, nobody uses the folder.
 */

import { join } from "node:path";

import type { Disk } from "./disk.ts";
import { lockFolder } from "./lock.ts";

/** While this file is there, the folder's other files belong to an attempt that has not finished. */
export const markerName = "export.unfinished";

/** @throws {Error} the folder has not been filled completely */
export async function checkWhole(disk: Disk, folder: string): Promise<void> {
  if (await disk.exists(join(folder, markerName))) {
    throw new Error(`Cannot use ${folder}: an export or a salvage into it was not finished; run it again`);
  }
}

/**
 * Makes and locks the folder, removes what an earlier attempt left, and fills it by `write`, which syncs each file.
 * @throws {Error} the folder has one of the files already; or `write` failed, and the folder has none
 */
export async function fillFolder<Result>(
  disk: Disk,
  folder: string,
  names: readonly string[],
  write: () => Promise<Result>,
): Promise<Result> {
  await disk.makeFolder(folder);
  const lock = await lockFolder(disk, folder);
  const marker = join(folder, markerName);
  const clear = async (): Promise<void> => {
    for (const name of names) {
      await disk.remove(join(folder, name));
    }
  };
  const unmark = async (): Promise<void> => {
    await disk.syncFolder(folder);
    await disk.remove(marker);
    await disk.syncFolder(folder);
  };
  try {
    for (const name of (await disk.exists(marker)) ? [] : names) {
      if (await disk.exists(join(folder, name))) {
        throw new Error(`Cannot export to ${folder}: it has a ${name} already`);
      }
    }
    await (await disk.openToAppend(marker)).close();
    await disk.syncFolder(folder);
    await clear();
    const result = await write().catch(async (error: unknown) => {
      await clear();
      await unmark();
      throw error;
    });
    await unmark();
    return result;
  } finally {
    await lock.release();
  }
}
