import { readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { userInfo } from "node:os";

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * To whom root gives what it makes in another user's folder, since that user's service must be able to use it;
 * undefined where nothing is given away. That user may put a link in the place of a file, so only a descriptor of a new
 * file, or a name that is not followed, may be given away.
 */
export async function folderOwner(folder: string): Promise<Owner | undefined> {
  if (process.geteuid?.() !== 0) {
    return undefined;
  }
  const { uid, gid } = await stat(folder);
  return uid === 0 ? undefined : { uid, gid };
}

/** The number where there is no name: a container may run as a user without one. */
export function userName(uid: number): string {
  try {
    const own = userInfo(); // Also of users that are kept elsewhere.
    if (own.uid === uid) {
      return own.username;
    }
  } catch {
    // This process has no name, but others may.
  }
  try {
    const entries = readFileSync("/etc/passwd", "utf8").split("\n").map((line) => line.split(":"));
    return entries.find((entry) => entry[2] === String(uid))?.[0] ?? String(uid);
  } catch {
    return String(uid);
  }
}
