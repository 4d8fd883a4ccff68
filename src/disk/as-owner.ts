/**
 * Lets a command that root runs on another user's folder become that user. Before that, all modules that the command
 * needs are loaded, and all files from elsewhere opened: that user may not be able to read them.
 */

import { lchown, lstat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, resolve } from "node:path";

import { messageOf } from "../base/error-message.ts";
import { nodeDisk } from "./node-disk.ts";
import { type Owner, pathOwner, userName } from "./owner.ts";

/**
 * If this process is root and the data folder another user's, becomes that user. Call it before the first file there is
 * touched.
 * @param target a folder that the command makes and fills; if it is missing, it will belong to that user
 * @throws {Error} that user cannot write to the target, or root cannot become that user
 */
export async function becomeOwner(dataDir: string, target?: string): Promise<void> {
  const owner = await pathOwner(dataDir);
  if (owner !== undefined) {
    if (target !== undefined && (await pathOwner(target)) === undefined) {
      await makeFor(owner, target, dataDir);
    }
    await become(owner);
  }
}

/**
 * Gives up being root, for good: as this user the process can do nothing that the user could not. All ids change, not
 * only the effective ones: access(2), which says why a file is refused, goes by the real ones. The groups become the
 * user's own. Root's would read root's files, and so would the folder's, which `install -o USER` leaves to root.
 * @throws {Error} this root may not, as in a container without that right
 */
async function become(owner: Owner): Promise<void> {
  const { uid } = owner;
  try {
    const named = namedUser(uid);
    const { gid } = named ?? owner;
    process.setgroups?.([gid]);
    if (named !== undefined) {
      (process as Groups).initgroups?.(named.username, gid);
    }
    process.setgid?.(gid);
    process.setuid?.(uid);
  } catch (error) {
    throw new Error(`root cannot become user ${await userName(uid)} here: ${messageOf(error)}`, { cause: error });
  }
}

/** What Node's types lack. */
interface Groups {
  initgroups?(user: string, group: number): void;
}

/** The name and group of a user, who may be in a directory of the network. Undefined for one without a name. */
function namedUser(uid: number): { readonly username: string; readonly gid: number } | undefined {
  process.seteuid?.(uid); // `userInfo` tells of the process's own user.
  try {
    return userInfo();
  } catch {
    return undefined;
  } finally {
    process.seteuid?.(0);
  }
}

/** Makes `target` and gives it to the owner. Safe only where root alone decides what the path leads to. */
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
    await lchown(path, uid, gid); // The deepest first: only root can enter until the topmost is given away.
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}
