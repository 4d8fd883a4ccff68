/**
 * Cuts off clients that do not read their response.
 */

import type { Server } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { Connection } from "./connection.ts";

export interface ReaderTimes {
  /** A client that reads nothing of waiting output is cut off after this time, or up to a tenth more. */
  readonly stalledReaderMs: number;
  readonly timeoutCheckMs: number;
}

/** Successive time-outs of a socket that make a stall. */
const stallTimeouts = 10;

/**
 * A periodic check gives a time-out only to sockets with waiting output. `server.setTimeout` would set one with each
 * request and each response, which takes 3 % of a request's time.
 */
export function watchReaders(server: Server, connections: ReadonlyMap<Duplex, Connection>, times: ReaderTimes): void {
  const timeoutMs = times.stalledReaderMs / stallTimeouts;
  const isStalled = stallDetector(timeoutMs);
  const look = (): void => {
    for (const socket of connections.keys()) {
      // Node may remove a time-out at the next request.
      if (socket.writableLength > 0 && socket instanceof Socket && socket.timeout !== timeoutMs) {
        socket.setTimeout(timeoutMs);
      }
    }
  };
  let timer: NodeJS.Timeout | undefined;
  server.on("listening", () => {
    timer = setInterval(look, times.timeoutCheckMs).unref();
  });
  server.on("close", () => clearInterval(timer));
  server.on("timeout", (socket: Socket) => {
    // With a listener here, Node does not destroy idle connections by itself. A client whose response is still being
    // made has nothing to read, so it is not cut off.
    const isOver = socket.writableLength > 0 ? isStalled(socket) : connections.get(socket)?.isAnswered() !== false;
    if (isOver) {
      socket.destroy();
    } else {
      socket.setTimeout(timeoutMs);
    }
  });
}

/**
 * Returns a function that takes each time-out of a socket, and says whether it completes a stall. If the client reads
 * anything during a time-out, Node does not emit it and begins another one. So those of a stall follow each other.
 */
function stallDetector(timeoutMs: number): (socket: Socket) => boolean {
  const quiet = new WeakMap<Socket, { readonly count: number; readonly atMs: number }>();
  return (socket) => {
    const last = quiet.get(socket);
    const atMs = performance.now();
    const count = last !== undefined && atMs - last.atMs < 2 * timeoutMs ? last.count + 1 : 1;
    quiet.set(socket, { count, atMs });
    return count >= stallTimeouts;
  };
}
