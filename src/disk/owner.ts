/**
 * Names users, and keeps root out of another user's place: whoever can change a part of the way to a folder decides
 * what it leads to, and root's rights must not go there.
 */

import type { Stats } from "node:fs";
import { lstat, readFile, readlink, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** How many links are followed, as on Linux. */
const linksMax = 40;

/**
 * Looks at each part of the way, links too, as far as it is there. A part may be root's, or belong to the user of the
 * program itself: it is that user's code that root runs.
 * @throws {Error} this process is root, and a part is another user's, or a folder whose entries others can replace
 */
export async function refuseRoot(path: string): Promise<void> {
  if (isRoot()) {
    const program = await stat(fileURLToPath(new URL("../../package.json", import.meta.url))).catch(() => undefined);
    await lookAlong(resolve(path), program, linksMax);
  }
}

async function lookAlong(path: string, program: Stats | undefined, linksLeft: number): Promise<void> {
  const names = path.split(sep);
  for (let count = 1; count <= names.length; count++) {
    const part = names.slice(0, count).join(sep) || sep;
    const found = await lstat(part).catch(() => undefined);
    if (found === undefined) {
      return; // Root makes the rest, or fails by the same error.
    }
    await mustBeSafe(part, found, program);
    if (found.isSymbolicLink()) {
      const target = resolve(dirname(part), await readlink(part), relative(part, path));
      return linksLeft > 0 ? lookAlong(target, program, linksLeft - 1) : undefined;
    }
  }
}

async function mustBeSafe(part: string, found: Stats, program: Stats | undefined): Promise<void> {
  const { uid, gid, mode } = found;
  const isPrograms = uid === program?.uid;
  if (uid !== 0 && !isPrograms) {
    const user = await userName(uid);
    const how = `runuser -u ${user} -- COMMAND, or docker run --user ${uid}:${gid}`;
    throw new Error(`${part} belongs to user ${user}: run this as that user, not as root (${how})`);
  }
  // Whoever can write to the program's own file can replace the program: the same right to a folder is no more.
  const known = isPrograms && gid === program.gid ? program.mode : 0;
  if (found.isDirectory() && (mode & writableByOthers & ~known) !== 0 && (mode & stickyBit) === 0) {
    const shown = `mode ${(mode & 0o7777).toString(8)}, user ${await userName(uid)}`;
    const how = "take that right away, or run this as another user (runuser -u USER, docker run --user)";
    throw new Error(`${part} is a folder in which others can replace what root uses (${shown}): ${how}`);
  }
}

const writableByOthers = 0o022;
/** S_ISVTX: Node has no constant for it. */
const stickyBit = 0o1000;

export function isRoot(): boolean {
  return process.geteuid?.() === 0;
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
