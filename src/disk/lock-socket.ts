/**
 * The Unix sockets of the locks in one folder.
 *
 * A socket's address holds 107 bytes (sun_path in unix(7), less the final zero; 103 on macOS and BSD), and the system
 * truncates longer ones silently. So the first of these that fits is used: the absolute path, the path from the working
 * folder, or, on Linux, a path through this process's own handle on the folder.
 */

import * as fs from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join, relative, resolve } from "node:path";
import { clearTimeout, setTimeout } from "node:timers";

import { undefinedIfAbsent } from "./file-errors.ts";

/** "alive": a process listens. "stale": the socket file exists, but its process is dead. */
export type SocketState = "alive" | "stale" | "absent";

const addressBytesMax = process.platform === "linux" ? 107 : 103;

/** For the longest name that callers use, with its separator: if this fits, no handle is needed. */
const nameBytesReserved = 64;

/** These errors say nothing about the other process. */
const ownFaults: ReadonlySet<string | undefined> = new Set(["EACCES", "EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]);

const retryMs = 10;

/** Processes that wait for it stay connected until it closes. */
export class LockSocket {
  readonly server: Server;
  readonly #waiting = new Set<Socket>();

  constructor() {
    this.server = createServer((connection) => {
      this.#waiting.add(connection);
      connection.on("close", () => this.#waiting.delete(connection));
      connection.on("error", () => undefined); // The waiting process died; "close" follows.
      connection.resume().unref();
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      this.#waiting.forEach((connection) => connection.destroy());
    });
  }
}

export class SocketFolder {
  readonly path: string;
  readonly #handle: fs.FileHandle | undefined;

  private constructor(path: string, handle: fs.FileHandle | undefined) {
    this.path = path;
    this.#handle = handle;
  }

  static async open(path: string): Promise<SocketFolder> {
    const absolute = resolve(path);
    const shortest = Math.min(Buffer.byteLength(absolute), Buffer.byteLength(relative("", absolute)));
    const needsHandle = process.platform === "linux" && shortest + nameBytesReserved > addressBytesMax;
    return new SocketFolder(absolute, needsHandle ? await fs.open(absolute) : undefined);
  }

  /** The socket does not keep the process alive. */
  listen(name: string): Promise<LockSocket> {
    const path = this.#address(name);
    return new Promise((resolve, reject) => {
      const socket = new LockSocket();
      const { server } = socket;
      const fail = (error: NodeJS.ErrnoException): void => reject(this.#failure(error));
      server.once("error", fail);
      server.listen({ path, exclusive: true }, () => {
        server.off("error", fail);
        // From now on only accepting can fail. Even then the other process is connected, and needs no more.
        server.on("error", () => undefined);
        server.unref();
        resolve(socket);
      });
    });
  }

  /**
   * Only a refused connection shows that no process listens: if the process is stopped or overloaded, connecting fails
   * in other ways.
   * @throws {Error} if this process may not connect, or lacks descriptors or memory, or if the name is no socket's
   */
  async stateOf(name: string): Promise<SocketState> {
    const code = await this.#connect(name);
    if (code === "ENOENT" || code === "ENOTDIR") {
      return "absent";
    }
    if (code !== "ECONNREFUSED") {
      return "alive";
    }
    const path = join(this.path, name);
    const status = await undefinedIfAbsent(fs.lstat(path));
    if (status?.isSocket() === false) {
      throw new Error(`Cannot lock ${path}: it is not a socket`); // It refuses connections too, but is not ours.
    }
    return status === undefined ? "absent" : "stale";
  }

  /** Resolves to undefined if it is connected, else to the code of the error. */
  #connect(name: string): Promise<string | undefined> {
    const path = this.#address(name);
    return new Promise((resolve, reject) => {
      const connection = connect({ path });
      connection.on("connect", () => {
        connection.destroy();
        resolve(undefined);
      });
      connection.on("error", (error: NodeJS.ErrnoException) => {
        if (ownFaults.has(error.code)) {
          reject(this.#failure(error));
        } else {
          resolve(error.code);
        }
      });
    });
  }

  /** Resolves when the process that listens closes the socket or dies, or after `waitMs`. May resolve earlier. */
  untilClosed(name: string, waitMs: number): Promise<void> {
    const path = this.#address(name);
    return new Promise((resolve) => {
      const connection = connect({ path });
      const timer = setTimeout(() => connection.destroy(), waitMs);
      connection.on("error", () => undefined); // "close" follows.
      connection.on("close", (hadError) => {
        clearTimeout(timer);
        setTimeout(resolve, hadError ? retryMs : 0);
      });
      connection.resume();
    });
  }

  /** Ends the use of addresses through the handle. Sockets that are open stay open. */
  async close(): Promise<void> {
    await this.#handle?.close();
  }

  /** Node's own message names a temporary file, and a call as for the network. */
  #failure(error: NodeJS.ErrnoException): Error {
    const { code } = error;
    return Object.assign(new Error(`the folder ${this.path} cannot be used: ${code}`, { cause: error }), { code });
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
