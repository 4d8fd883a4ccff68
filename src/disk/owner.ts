/**
 * What root has to know of the owners of folders. Whoever owns a folder may put a link in the place of any file there,
 * and root's rights must not follow it: a command of root becomes that user (`become`). A server keeps its ids, since
 * it may need them later; it opens no link there, and gives away only what it has just made.
 */

import { lstat, readFile, readlink, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, resolve } from "node:path";

import { messageOf } from "../base/error-message.ts";

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Who owns the folder, if this process is root and the folder is not root's. */
export async function folderOwner(folder: string): Promise<Owner | undefined> {
  return isRoot() ? notRoot(await stat(folder)) : undefined;
}

/**
 * Who, other than root, decides what the path leads to, if this process is root: the owner of a link, of the folder, or
 * of the nearest folder above where there is none yet.
 */
export async function pathOwner(path: string): Promise<Owner | undefined> {
  return isRoot() ? ownerOf(resolve(path), linksMax) : undefined;
}

/** What a start of root says there. */
export async function rootRemark(path: string, { uid }: Owner): Promise<string> {
  return `root serves ${path}, which user ${await userName(uid)} can change: start it as that user`;
}

/** As many as Linux follows. */
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

/**
 * Gives up being root, for good: as this user the process can do nothing that the user could not. Supplementary groups
 * go first, since root's would stay, and read root's files. All ids change, not the effective ones alone: by the real
 * ones access(2) answers, which tells why a file is refused.
 * @throws {Error} this root may not, as in a container without that right
 */
export async function become({ uid, gid }: Owner): Promise<void> {
  try {
    process.setgroups?.([gid]);
    process.setgid?.(gid);
    process.setuid?.(uid);
  } catch (error) {
    throw new Error(`root cannot become user ${await userName(uid)} here: ${messageOf(error)}`, { cause: error });
  }
}

/** The number where there is no name: a container may run as a user without one. */
export async function userName(uid: number): Promise<string> {
  const users = await readFile("/etc/passwd", "utf8").catch(() => ""); // A container may have no such file.
  const entry = users.split("\n").map((line) => line.split(":")).find(([, , id]) => id === String(uid));
  return entry?.[0] ?? ownName(uid) ?? String(uid);
}

/** Of this process: its user may be kept elsewhere, as in a directory of the network. */
function ownName(uid: number): string | undefined {
  try {
    const own = userInfo();
    return own.uid === uid ? own.username : undefined;
  } catch {
    return undefined; // It has no name.
  }
}
