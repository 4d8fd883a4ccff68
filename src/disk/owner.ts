/**
 * Names users, and keeps root out of another user's place: whoever can change a part of the way to a folder decides
 * what it leads to, and root's rights must not go there.
 */

import type { Stats } from "node:fs";
import { lstat, readFile, readlink, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, resolve, sep } from "node:path";
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
    const program = await programStats();
    let place: string = sep; // Without links, so that ".." leads where it does for the kernel.
    let names = resolve(path).split(sep);
    for (let linkCount = 0; names.length > 0 && linkCount <= linksMax; ) {
      const [name = "", ...rest] = names;
      const part = resolve(place, name);
      const found = await lstat(part).catch(() => undefined);
      if (found === undefined) {
        return; // Root makes the rest, or fails by the same error.
      }
      await mustBeSafe(part, found, program);
      if (found.isSymbolicLink()) {
        const target = await readlink(part);
        linkCount += 1;
        place = target.startsWith(sep) ? sep : place;
        names = [...target.split(sep), ...rest];
      } else {
        [place, names] = [part, rest];
      }
    }
  }
}

/**
 * In a folder where others can make files, as in /tmp, another user may have made this one before root did. Elsewhere
 * its owner does not matter: the copies of a backup may belong to the user of the service.
 * @param opened of an open file, so that no other one can take its place
 * @throws {Error} this process is root, and the file is another user's in such a folder
 */
export async function refuseRootFile(path: string, opened?: Stats): Promise<void> {
  const folder = isRoot() ? await stat(dirname(path)).catch(() => undefined) : undefined;
  if (folder !== undefined && (folder.mode & writableByOthers) !== 0) {
    const found = opened ?? (await lstat(path).catch(() => undefined));
    await (found && mustBeSafe(resolve(path), found, await programStats()));
  }
}

async function programStats(): Promise<Stats | undefined> {
  return stat(fileURLToPath(new URL("../../package.json", import.meta.url))).catch(() => undefined);
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
