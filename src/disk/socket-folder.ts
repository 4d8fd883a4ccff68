/**
 * Unix sockets in a folder, by their names: listening on one, and asking whether anybody listens.
 *
 * A socket's address holds 107 bytes (sun_path in unix(7), less the zero at its end; 103 on macOS and BSD), and what is
 * longer would be cut off without a word. So an address is made by whichever way fits: the absolute path, the path from
 * the working folder, or, on Linux, a path through this process's own handle on the folder.
 */

import * as fs from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join, relative, resolve } from "node:path";

export type ListenerState = "alive" | "stale" | "absent";

const addressBytesMax = process.platform === "linux" ? 107 : 103;

/** The longest name that callers use, the separator before it included: where this fits, no handle is needed. */
const nameBytesReserved = 64;

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

  /** Listens on a new socket. Whoever connects has its answer by that, and is disconnected. Keeps no process alive. */
  listen(name: string): Promise<Server> {
    const path = this.#address(name);
    return new Promise((resolve, reject) => {
      const server = createServer((connection) => connection.destroy());
      server.once("error", reject);
      server.listen({ path, exclusive: true }, () => {
        server.off("error", reject);
        // What can fail from now on is accepting a connection, which is not needed: to have been connected is enough.
        server.on("error", () => undefined);
        server.unref();
        resolve(server);
      });
    });
  }

  /**
   * Connects to a socket to see whether anybody listens on it. Only a refusal shows that nobody does: a holder that is
   * stopped, overrun or another user's fails in other ways, and is alive.
   */
  probe(name: string): Promise<ListenerState> {
    const path = this.#address(name);
    return new Promise((resolve) => {
      const connection = connect({ path });
      connection.on("connect", () => {
        connection.destroy();
        resolve("alive");
      });
      connection.on("error", (error: NodeJS.ErrnoException) => {
        resolve(error.code === "ECONNREFUSED" ? "stale" : error.code === "ENOENT" ? "absent" : "alive");
      });
    });
  }

  /** The address goes with this object: close it when all of them have been used. */
  async close(): Promise<void> {
    await this.#handle?.close();
  }

  #address(name: string): string {
    const absolute = join(this.path, name);
    const candidates = [absolute, relative("", absolute)];
    if (this.#handle !== undefined) {
      candidates.push(`/proc/self/fd/${this.#handle.fd}/${name}`);
    }
    const address = candidates.find((candidate) => Buffer.byteLength(candidate) <= addressBytesMax);
    if (address === undefined) {
      throw new Error(`Cannot lock "${absolute}": a socket's path may have ${addressBytesMax} bytes`);
    }
    return address;
  }
}
