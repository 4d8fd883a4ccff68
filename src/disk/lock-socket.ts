/**
 * The Unix sockets of the locks in one folder.
 *
 * A socket's address holds 107 bytes (sun_path in unix(7), less the final zero; 103 on macOS and BSD), and the system
 * truncates longer ones silently. So the first of these that fits is used: the absolute path, the path from the working
 * folder, or, on Linux, a path through this process's own handle on the folder.
 */

import { once } from "node:events";
import * as fs from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { basename, dirname, join, relative, resolve } from "node:path";

import { codeOf } from "../base/error-message.ts";
import type { Lock } from "./disk.ts";
import { explain, RefusedError, undefinedIfAbsent } from "./file-errors.ts";
import { refuseRoot, refuseRootFile, userName } from "./owner.ts";

const addressBytesMax = process.platform === "linux" ? 107 : 103;

/** Bytes for a separator and the longest name that callers use: a path that leaves so many needs no handle. */
const nameBytesReserved = 64;

/** Failures to connect that say what the other process is: busy (EAGAIN), just closing, or dead, or not there. */
const answers: ReadonlySet<string | undefined> = new Set(["EAGAIN", "ECONNRESET", "ECONNREFUSED", "ENOENT", "ENOTDIR"]);

/** Further connections are closed at once. Only this user's processes can connect. */
const connectionsMax = 32;

/**
 * A socket that listens, and so holds the name `path`, or contends for it. Connections that nobody takes stay open
 * until it closes.
 */
export class LockSocket implements Lock {
  readonly server: Server;
  /** As `identityOf` gives it; undefined until then. */
  identity: string | undefined;
  readonly #path: string;
  readonly #connections = new Set<Socket>();
  #take: ((connection: Socket) => void) | undefined;

  constructor(path: string) {
    this.#path = path;
    this.server = createServer({ allowHalfOpen: true }, (connection) => {
      connection.unref();
      connection.on("error", () => undefined); // The other process died; "close" follows.
      this.#connections.add(connection);
      connection.on("close", () => this.#connections.delete(connection));
      if (this.#connections.size > connectionsMax) {
        connection.destroy();
      } else {
        this.#take?.(connection);
      }
    });
  }

  answer(take: (connection: Socket) => void): void {
    this.#take = take;
    [...this.#connections].filter(({ writable }) => writable).forEach(take);
  }

  async isInPlace(): Promise<boolean> {
    return this.identity !== undefined && (await identityOf(this.#path)) === this.identity;
  }

  /** Removes the name while the socket still listens, so that no process finds a stale one. */
  async release(): Promise<void> {
    try {
      if (await this.isInPlace()) {
        await undefinedIfAbsent(fs.unlink(this.#path));
      }
    } finally {
      await this.close(); // Even if the name stays: it is then stale, and the next process replaces it.
    }
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      this.#connections.forEach((connection) => connection.destroy());
    });
  }
}

/** Identifies the socket that the path leads to: inodes are reused, but not at the same nanosecond. */
export async function identityOf(path: string): Promise<string | undefined> {
  const found = await undefinedIfAbsent(fs.lstat(path, { bigint: true }));
  return found && `${found.ino.toString(36)}-${found.mtimeNs.toString(36)}`;
}

/**
 * Calls `use` with the folder of the name `path`. Sockets that `use` opens stay open.
 * @throws {Error} as `refuseRoot`: whatever is done with a data folder begins here
 */
export async function inFolderOf<Result>(
  path: string,
  use: (folder: SocketFolder, name: string) => Promise<Result>,
): Promise<Result> {
  const folder = dirname(resolve(path));
  await refuseRoot(folder);
  await refuseRootFile(path);
  const shortest = Math.min(Buffer.byteLength(folder), Buffer.byteLength(relative("", folder)));
  const needsHandle = process.platform === "linux" && shortest + nameBytesReserved > addressBytesMax;
  const handle = needsHandle ? await fs.open(folder) : undefined;
  return use(new SocketFolder(folder, handle), basename(path)).finally(() => handle?.close());
}

export class SocketFolder {
  readonly path: string;
  readonly #handle: fs.FileHandle | undefined;

  constructor(path: string, handle: fs.FileHandle | undefined) {
    this.path = path;
    this.#handle = handle;
  }

  /** The socket does not keep the process alive. @param heldPath the name that it holds or contends for */
  async listen(name: string, heldPath: string): Promise<LockSocket> {
    const socket = new LockSocket(heldPath);
    const { server } = socket;
    server.listen({ path: this.#address(name), exclusive: true });
    try {
      await once(server, "listening");
    } catch (error) {
      throw await this.failure(error, name);
    }
    // From now on only accepting can fail. Even then the other process has connected, and so knows that this one lives.
    server.on("error", () => undefined);
    server.unref();
    return socket;
  }

  /**
   * Alive: a process listens. Stale: the socket file exists, but its process is dead.
   *
   * Only a refused connection shows that no process listens: one that is stopped or overloaded still has its backlog.
   * @throws {Error} if connecting fails in a way that says nothing about the other process, or something else has the
   * name
   */
  async stateOf(name: string): Promise<"alive" | "stale" | "absent"> {
    const code = await this.#connect(name);
    if (typeof code !== "string") {
      code.destroy();
      return "alive";
    }
    if (code === "ENOTDIR") {
      return "absent";
    }
    if (code !== "ECONNREFUSED" && code !== "ENOENT") {
      return "alive";
    }
    const path = join(this.path, name);
    const status = await undefinedIfAbsent(fs.lstat(path));
    if (status?.isSocket() === false) {
      throw new Error(`Cannot lock ${path}: it is not a socket`); // For instance a plain file, or a dangling link.
    }
    return status === undefined || code === "ENOENT" ? "absent" : "stale"; // It may have been made meanwhile.
  }

  /** A connection to the process that listens; undefined if none does. @throws {Error} as `stateOf` */
  async reach(name: string): Promise<Socket | undefined> {
    const connection = await this.#connect(name);
    return typeof connection === "string" ? undefined : connection;
  }

  /** Resolves to the error's code if no connection can be made. */
  #connect(name: string): Promise<Socket | string> {
    const path = this.#address(name);
    return new Promise((resolve, reject) => {
      const connection = connect({ path, allowHalfOpen: true });
      connection.on("connect", () => resolve(connection));
      connection.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code !== undefined && answers.has(error.code)) {
          resolve(error.code);
        } else {
          void this.failure(error, name).then(reject);
        }
      });
    });
  }

  /** Replaces Node's own message, which names a temporary file, and a call of the network. */
  async failure(error: unknown, name: string): Promise<Error> {
    const code = codeOf(error);
    const refused = code === "EACCES" ? await explain(error, join(this.path, name)) : error;
    if (refused instanceof RefusedError) {
      return refused;
    }
    const user = await userName(process.geteuid?.() ?? -1);
    const needs = `user ${user} must be able to write to it, on a file system with Unix sockets and hard links`;
    const text = `the folder ${this.path} cannot be used: ${String(code)}; ${needs}`;
    return Object.assign(new Error(text, { cause: error }), { code });
  }

  #address(name: string): string {
    const absolute = join(this.path, name);
    const candidates = [absolute, relative("", absolute)];
    if (this.#handle !== undefined) {
      candidates.push(`/proc/self/fd/${this.#handle.fd}/${name}`);
    }
    const address = candidates.find((candidate) => Buffer.byteLength(candidate) <= addressBytesMax);
    if (address === undefined) {
      throw new Error(`Cannot lock "${absolute}": a socket's path has ${addressBytesMax} bytes at most`);
    }
    return address;
  }
}
