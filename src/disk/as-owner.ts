/**
 * Commands of root on another user's folder. All that a command needs is loaded before, since the program may lie where
 * that user cannot read, and all that it reads from elsewhere is opened before.
 */

import { lchown, lstat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { nodeDisk } from "./node-disk.ts";
import { become, type Owner, pathOwner, userName } from "./owner.ts";

/**
 * Becomes the user who owns the data folder, if this is root and the folder another user's: before the first file there
 * is touched. Resolves to that user.
 * @param target a folder that the command makes and fills: a new one becomes that user's
 * @throws {Error} that user cannot write to the target, or root cannot become that user
 */
export async function becomeOwner(dataDir: string, target?: string): Promise<Owner | undefined> {
  const owner = await pathOwner(dataDir);
  if (owner !== undefined) {
    if (target !== undefined && (await pathOwner(target)) === undefined) {
      await makeFor(owner, target, dataDir);
    }
    await become(owner);
  }
  return owner;
}

/** Where only root decides what the path leads to. */
async function makeFor({ uid, gid }: Owner, target: string, dataDir: string): Promise<void> {
  const missing: string[] = [];
  for (let path = resolve(target); !(await isThere(path)); path = dirname(path)) {
    missing.push(path);
  }
  if (missing.length === 0) {
    const reason = `it is root's, and ${dataDir} belongs to user ${await userName(uid)}`;
    throw new Error(`Cannot write to ${target}: ${reason}: name a folder that is not there yet`);
  }
  await nodeDisk.makeFolder(target);
  for (const path of missing) {
    await lchown(path, uid, gid); // From the last one up: until the first one is given away, only root is in there.
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}
