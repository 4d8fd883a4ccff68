/**
 * A lock on a name that one process owns at a time, and that a dead process cannot keep: a Unix socket that its owner
 * listens on.
 *
 * A process that finds the name taken connects to it. The kernel accepts if the owner lives, however busy it is, and
 * refuses if it is dead, so nothing has to be cleaned up by hand, and no process id can be mistaken for another. The
 * socket is found by its path, so processes in other containers that share the folder see it too.
 *
 * A name never appears before its socket listens and is this user's alone, and a process never removes a name that
 * another one has taken:
 * 1. Make a folder `NAME.…` that nobody else can enter, and listen on a socket in it. Take all others' rights to the
 *    socket away, and `link` it to the name, which fails if the name is taken.
 * 2. If it is taken and the connection refused, the socket is stale. It has an identity (inode and time). Lock the name
 *    `NAME.IDENTITY`, which is the right to replace exactly this socket: by step 1, or by step 2 if it is stale too.
 * 3. If the name still leads to that stale socket, `rename` the own one over it. Otherwise start again.
 *
 * A process that dies during these steps leaves a stale `NAME.…`, which the next owner removes. Needs a file system
 * with sockets and hard links. Not for Windows.
 */

import { randomBytes } from "node:crypto";
import * as fs from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { codeOf, hasCode } from "../base/error-message.ts";
import type { Disk, Lock } from "./disk.ts";
import { undefinedIfAbsent } from "./file-errors.ts";
import { identityOf, inFolderOf, type LockSocket, type SocketFolder } from "./lock-socket.ts";

/** Another server or command uses this folder. */
export class FolderInUseError extends Error {
  override readonly name = "FolderInUseError";
}

/** How long a start waits for the lock: a command that changes a key holds the folder for a moment only. */
const waitMsMax = 1_000;
const retryMs = 50;

/** @internal The name that a process holds while it serves or changes the data folder. */
export function folderLockPath(dataDir: string): string {
  return join(dataDir, "server.lock");
}

/** An attempt fails if another process changes the name during it. After so many the name counts as held. */
const attemptsMax = 100;

/** @internal Makes the data folder if it is missing, and locks it for this process. @throws {FolderInUseError} */
export async function lockFolder(disk: Disk, dataDir: string): Promise<Lock> {
  await disk.makeFolder(dataDir);
  for (let waitedMs = 0; waitedMs < waitMsMax; waitedMs += retryMs) {
    const lock = await disk.lock(folderLockPath(dataDir));
    if (lock !== undefined) {
      return lock;
    }
    await delay(retryMs);
  }
  throw new FolderInUseError(`another server or command uses the folder ${dataDir}`);
}

/** @internal */
export async function isFolderLocked(disk: Disk, dataDir: string): Promise<boolean> {
  return (await disk.exists(dataDir)) && disk.isLocked(folderLockPath(dataDir));
}

/**
 * @internal Locks the name `path` in an existing folder. Resolves to undefined if a living process holds it.
 * @throws {Error} if the file system has no sockets or hard links, the path is too long for a socket, this process may
 * not connect to it, or something else has the name
 */
export function lock(path: string): Promise<Lock | undefined> {
  return inFolderOf(path, async (folder, name) => {
    try {
      const socket = await contend(folder, name);
      await (socket && sweep(folder, name).catch(async (error: unknown) => {
        await socket.release();
        throw error;
      }));
      return socket;
    } catch (error) {
      throw codeOf(error) === undefined ? error : await folder.failure(error, name);
    }
  });
}

/** Whether a living process holds the name `path`. Changes nothing. @throws {Error} as `lock` */
export function isLocked(path: string): Promise<boolean> {
  return inFolderOf(path, async (folder, name) => (await folder.stateOf(name)) === "alive");
}

/** A connection to the process that holds the name `path`; undefined if none does. @throws {Error} as `lock` */
export function reach(path: string): Promise<Socket | undefined> {
  return inFolderOf(path, (folder, name) => folder.reach(name));
}

/** Resolves to undefined if another process has the name. */
async function contend(folder: SocketFolder, name: string): Promise<Lock | undefined> {
  while ((await folder.stateOf(name)) !== "alive") {
    const ownName = `${name}.${randomBytes(8).toString("hex")}`;
    const ownFolder = join(folder.path, ownName);
    // Before its mode is set, whom a new socket lets in is the umask's and an ACL's matter. Nobody enters this folder.
    await fs.mkdir(ownFolder, 0o700);
    try {
      const socket = await folder.listen(join(ownName, socketName), join(folder.path, name));
      const attempt = await offer(socket, folder, name, join(ownFolder, socketName));
      if (attempt !== "swept") {
        return attempt === "ours" ? socket : undefined;
      }
    } catch (error) {
      if ((await identityOf(ownFolder)) !== undefined) {
        throw error;
      }
      // It was swept before the socket listened in it.
    } finally {
      await fs.rm(ownFolder, { recursive: true, force: true });
    }
  }
  return undefined;
}

const socketName = "socket";

/** Contends with a socket that listens at `ownPath`. It is closed if it does not win. */
async function offer(socket: LockSocket, folder: SocketFolder, name: string, ownPath: string): Promise<Attempt> {
  try {
    await undefinedIfAbsent(fs.chmod(ownPath, 0o600)); // It may have been swept.
    socket.identity = await identityOf(ownPath);
    const attempt = await take(folder, name, ownPath);
    await (attempt === "ours" || socket.close());
    return attempt;
  } catch (error) {
    await socket.release();
    throw error;
  }
}

/** "swept": a new owner removed the socket, which looked stale before it listened. The caller makes another. */
type Attempt = "ours" | "held" | "swept";

/** Gives the socket at `temporaryPath` the name `target`, which is `name` or the right to replace a stale one. */
async function take(folder: SocketFolder, name: string, temporaryPath: string, target = name): Promise<Attempt> {
  const path = join(folder.path, target);
  for (let attempts = 0; attempts < attemptsMax; attempts++) {
    try {
      await fs.link(temporaryPath, path);
      return "ours";
    } catch (error) {
      if (hasCode(error, "ENOENT")) {
        return "swept";
      }
      if (!hasCode(error, "EEXIST")) {
        throw error;
      }
    }
    const identity = await identityOf(path);
    if ((await folder.stateOf(target)) === "alive") {
      return "held";
    }
    if (identity === undefined) {
      continue;
    }
    const right = `${name}.${identity}`;
    const attempt = await take(folder, name, temporaryPath, right);
    if (attempt !== "ours") {
      return attempt;
    }
    const rightPath = join(folder.path, right);
    // No other process can replace this stale socket now. Checked again: it may have been replaced before.
    if ((await identityOf(path)) === identity && (await folder.stateOf(target)) === "stale") {
      await fs.rename(rightPath, path);
      return "ours";
    }
    // The socket has a new owner. A sweep may have taken this right away, if an earlier holder of it was dead.
    await undefinedIfAbsent(fs.unlink(rightPath));
  }
  return "held";
}

/** After the name has been locked: removes the sockets of dead processes, and the folders that they were made in. */
async function sweep(folder: SocketFolder, name: string): Promise<void> {
  for (const entry of await fs.readdir(folder.path, { withFileTypes: true })) {
    if (entry.name.startsWith(`${name}.`) && (entry.isSocket() || entry.isDirectory())) {
      const socket = entry.isSocket() ? entry.name : join(entry.name, socketName);
      const state = await folder.stateOf(socket).catch((error: unknown) => {
        if (!hasCode(error, "EACCES")) { // Another user's stays.
          throw error;
        }
      });
      if (state === "stale") {
        await undefinedIfAbsent(fs.unlink(join(folder.path, socket)));
      }
      if (entry.isDirectory() && (state === "stale" || state === "absent")) {
        await undefinedIfAbsent(fs.rmdir(join(folder.path, entry.name))).catch((error: unknown) => {
          if (!hasCode(error, "ENOTEMPTY")) { // Its process lives: the socket has just been made.
            throw error;
          }
        });
      }
    }
  }
}
