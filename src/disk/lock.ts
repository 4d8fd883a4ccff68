/**
 * A lock on a name, one process at a time, that a dead holder cannot keep: a Unix socket that its holder listens on.
 *
 * Whoever finds the name taken connects to it. The kernel accepts for a living holder, however busy that is, and
 * refuses for a dead one, so nothing has to be cleaned up by hand, and no process id can be mistaken for another's.
 * Because the socket is found by its path, processes in other containers and network namespaces that share the folder
 * see it too.
 *
 * No name is ever seen before its socket listens, and none is removed that another process may have taken meanwhile:
 * 1. listen on a socket of a unique temporary name beside it, then `link` that to the name, which fails if it is taken.
 * 2. Taken, and the connection refused: the socket is stale, with an identity (inode and time). Lock the right to
 *    replace just this one, which is the name `NAME.IDENTITY`, by step 1, or 2 where that is stale in turn.
 * 3. If the name is still the same stale socket, `rename` one's own over it; else start again.
 *
 * A process that dies within these steps leaves a stale `NAME.…`, which the next holder sweeps away.
 * Needs a file system with sockets and hard links. Not for Windows.
 */

import { randomBytes } from "node:crypto";
import * as fs from "node:fs/promises";
import type { Server } from "node:net";
import { basename, dirname, join } from "node:path";

import type { Lock } from "./disk.ts";
import { SocketFolder } from "./socket-folder.ts";

/** Each attempt met a name that changed hands meanwhile: after so many, it is as good as held. */
const attemptsMax = 100;

/**
 * Locks the name `path`, in a folder that is there; undefined where a living process holds it.
 *
 * @throws {Error} when the file system has no sockets or hard links, or the path is too long for a socket
 */
export async function lock(path: string): Promise<Lock | undefined> {
  const folder = await SocketFolder.open(dirname(path));
  try {
    const server = await new Contender(folder, basename(path)).run();
    if (server === undefined) {
      return undefined;
    }
    const identity = await identityOf(path);
    await sweep(folder, basename(path));
    return { release: () => release(server, path, identity) };
  } finally {
    await folder.close();
  }
}

/** Whether a living process holds the name `path`. Changes nothing. */
export async function isLocked(path: string): Promise<boolean> {
  const folder = await SocketFolder.open(dirname(path));
  try {
    return (await folder.probe(basename(path))) === "alive";
  } finally {
    await folder.close();
  }
}

type Attempt = "ours" | "held" | "swept";

/** One try at a name: owns the listening socket that is to stand there. */
class Contender {
  readonly #folder: SocketFolder;
  readonly #name: string;

  constructor(folder: SocketFolder, name: string) {
    this.#folder = folder;
    this.#name = name;
  }

  /** The listening socket that now stands at the name; undefined where another does. */
  async run(): Promise<Server | undefined> {
    for (;;) {
      const temporaryName = `${this.#name}.${randomBytes(8).toString("hex")}`;
      const server = await this.#folder.listen(temporaryName);
      const temporaryPath = join(this.#folder.path, temporaryName);
      let attempt: Attempt | undefined;
      try {
        attempt = await this.#take(temporaryPath, this.#name);
      } finally {
        await unlinkIfThere(temporaryPath);
        if (attempt !== "ours") {
          await closed(server);
        }
      }
      if (attempt !== "swept") {
        return attempt === "ours" ? server : undefined;
      }
    }
  }

  async #take(temporaryPath: string, name: string): Promise<Attempt> {
    const path = join(this.#folder.path, name);
    for (let attempts = 0; attempts < attemptsMax; attempts++) {
      const linking = await linkIfFree(temporaryPath, path);
      if (linking !== "taken") {
        return linking;
      }
      const identity = await identityOf(path);
      const state = await this.#folder.probe(name);
      if (state === "alive") {
        return "held";
      }
      if (identity === undefined || state === "absent") {
        continue;
      }
      const right = `${this.#name}.${identity}`;
      const attempt = await this.#take(temporaryPath, right);
      if (attempt !== "ours") {
        return attempt;
      }
      const rightPath = join(this.#folder.path, right);
      // Nobody else may replace this stale socket now. Asked again, as an inode may come back with the same time.
      if ((await identityOf(path)) === identity && (await this.#folder.probe(name)) === "stale") {
        await fs.rename(rightPath, path);
        return "ours";
      }
      await unlinkIfThere(rightPath); // Where it was taken over from a dead one, the new holder may have swept it away.
    }
    return "held";
  }
}

/** Unlinked while it still listens: nobody shall find a stale one. */
async function release(server: Server, path: string, ownIdentity: string | undefined): Promise<void> {
  if ((await identityOf(path)) === ownIdentity) {
    await unlinkIfThere(path);
  }
  await closed(server);
}

/** "swept": between being made and listening, the socket looked stale to a new holder. It takes another one. */
async function linkIfFree(temporaryPath: string, path: string): Promise<"ours" | "taken" | "swept"> {
  try {
    await fs.link(temporaryPath, path);
    return "ours";
  } catch (error) {
    if (hasCode(error, "EEXIST")) {
      return "taken";
    }
    if (hasCode(error, "ENOENT")) {
      return "swept";
    }
    throw error;
  }
}

/** Removes what contenders that died half-way have left beside a name that is now held. */
async function sweep(folder: SocketFolder, name: string): Promise<void> {
  for (const entry of await fs.readdir(folder.path, { withFileTypes: true })) {
    const isLeftover = entry.isSocket() && entry.name.startsWith(`${name}.`);
    if (isLeftover && (await folder.probe(entry.name)) === "stale") {
      await unlinkIfThere(join(folder.path, entry.name));
    }
  }
}

/** Which socket stands at the path: inodes are used again, but not at the same nanosecond. */
async function identityOf(path: string): Promise<string | undefined> {
  try {
    const { ino, mtimeNs } = await fs.lstat(path, { bigint: true });
    return `${ino.toString(36)}-${mtimeNs.toString(36)}`;
  } catch (error) {
    if (hasCode(error, "ENOENT")) {
      return undefined;
    }
    throw error;
  }
}

async function unlinkIfThere(path: string): Promise<void> {
  try {
    await fs.unlink(path);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) {
      throw error;
    }
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
