/**
 * The folder of everything that is kept: one server each.
 */

import { join } from "node:path";

import type { Claim, Disk } from "./disk.ts";

/** Another process serves this folder. */
export class FolderInUseError extends Error {
  override readonly name = "FolderInUseError";
}

const lockName = "server.lock";

/**
 * Makes the folder where it is missing and claims it for this process.
 *
 * @throws {FolderInUseError}
 */
export async function claimFolder(disk: Disk, dataDir: string): Promise<Claim> {
  await disk.makeFolder(dataDir);
  const claim = await disk.claim(join(dataDir, lockName));
  if (claim === undefined) {
    throw new FolderInUseError(`another server holds the folder ${dataDir}`);
  }
  return claim;
}

/** Whether a server holds the folder now. */
export async function isFolderClaimed(disk: Disk, dataDir: string): Promise<boolean> {
  return (await disk.status(dataDir)) !== undefined && disk.isClaimed(join(dataDir, lockName));
}
