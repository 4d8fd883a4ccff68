/**
 * The folder of everything that is kept: one server each.
 */

import { join } from "node:path";

import type { Lock, Disk } from "./disk.ts";

/** Another process serves this folder. */
export class FolderInUseError extends Error {
  override readonly name = "FolderInUseError";
}

const lockName = "server.lock";

/**
 * Makes the folder where it is missing and locks it for this process.
 *
 * @throws {FolderInUseError}
 */
export async function lockFolder(disk: Disk, dataDir: string): Promise<Lock> {
  await disk.makeFolder(dataDir);
  const lock = await disk.lock(join(dataDir, lockName));
  if (lock === undefined) {
    throw new FolderInUseError(`another server holds the folder ${dataDir}`);
  }
  return lock;
}

/** Whether a server holds the folder now. */
export async function isFolderLocked(disk: Disk, dataDir: string): Promise<boolean> {
  return (await disk.status(dataDir)) !== undefined && disk.isLocked(join(dataDir, lockName));
}
