/**
 * Finds out who owns a folder, for a process of root. The owner of a folder may put a link in the place of any file
 * there, and root's rights must not follow it. So a command becomes that user: as-owner.ts. A server stays root, since
 * it may need that later; it opens no link there, and gives away only what it has just made.
 */

import { lstat, readFile, readlink, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, resolve } from "node:path";

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** If this process is root, and others can put a link in the place of a file in the folder: its owner, or root. */
export async function folderOwner(folder: string): Promise<Owner | undefined> {
  if (!isRoot()) {
    return undefined;
  }
  const { uid, gid, mode } = await stat(folder);
  return uid !== 0 || (mode & 0o022) !== 0 ? { uid, gid } : undefined;
}

/**
 * If this process is root, the other user who decides what the path leads to: the owner of a link, of the folder, or,
 * if it does not exist yet, of the nearest folder above.
 */
export async function pathOwner(path: string): Promise<Owner | undefined> {
  return isRoot() ? ownerOf(resolve(path), linksMax) : undefined;
}

/** As `pathOwner`, for a server, which stays root. @throws {Error} a link of that user leads to a folder of root's */
export async function servedOwner(path: string): Promise<Owner | undefined> {
  const owner = await pathOwner(path);
  if (owner !== undefined && (await stat(path).catch(() => owner)).uid === 0) { // It may not be there yet.
    const user = `user ${await userName(owner.uid)}`;
    throw new Error(`${path} is a link of ${user}, which root does not follow: start it as ${user}`);
  }
  return owner;
}

/** What a server that root starts on this path reports. */
export async function rootRemark(path: string, { uid }: Owner): Promise<string> {
  return `root serves ${path}, which user ${await userName(uid)} can change: start it as that user`;
}

/** How many links are followed, as on Linux. */
const linksMax = 40;

async function ownerOf(path: string, linksLeft: number): Promise<Owner | undefined> {
  const found = await lstat(path).catch(() => undefined); // It is not there.
  if (found === undefined) {
    return ownerOf(dirname(path), linksLeft);
  }
  return notRoot(found) ?? (found.isSymbolicLink() && linksLeft > 0
    ? ownerOf(resolve(dirname(path), await readlink(path)), linksLeft - 1)
    : undefined);
}

function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

function notRoot({ uid, gid }: Owner): Owner | undefined {
  return uid === 0 ? undefined : { uid, gid };
}

/** The number where there is no name: a container may run as a user without one. */
export async function userName(uid: number): Promise<string> {
  const users = await readFile("/etc/passwd", "utf8").catch(() => ""); // A container may have no such file.
  const entry = users.split("\n").map((line) => line.split(":")).find(([, , id]) => id === String(uid));
  return entry?.[0] ?? ownName(uid) ?? String(uid);
}

/** The name of this process's own user, who may be in a directory of the network instead of /etc/passwd. */
function ownName(uid: number): string | undefined {
  try {
    const own = userInfo();
    return own.uid === uid ? own.username : undefined;
  } catch {
    return undefined; // It has no name.
  }
}
