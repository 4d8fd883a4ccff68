/**
 * Cuts off clients that do not read their response.
 */

import type { Server } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { Connection } from "./connection.ts";

export interface ReaderTimes {
  /** How long a client may at least read nothing while output waits for it. */
  readonly stalledReaderMs: number;
  readonly timeoutCheckMs: number;
}

/**
 * A periodic check gives a time-out only to sockets with waiting output. `server.setTimeout` would set one with each
 * request and each response, which takes 3 % of a request's time.
 */
export function watchReaders(server: Server, connections: ReadonlyMap<Duplex, Connection>, times: ReaderTimes): void {
  const { stalledReaderMs, timeoutCheckMs } = times;
  const look = (): void => {
    for (const socket of connections.keys()) {
      // At its end Node begins another one if anything was taken meanwhile. So a reader that takes nothing is cut off
      // after one to two of them. The next request on the connection may remove it.
      if (socket.writableLength > 0 && socket instanceof Socket && socket.timeout !== stalledReaderMs) {
        socket.setTimeout(stalledReaderMs);
      }
    }
  };
  let timer: NodeJS.Timeout | undefined;
  server.on("listening", () => {
    timer = setInterval(look, timeoutCheckMs).unref();
  });
  server.on("close", () => clearInterval(timer));
  server.on("timeout", (socket: Socket) => {
    // With a listener here, Node does not destroy idle connections by itself. While a response is being made, the
    // client has nothing to read.
    if (socket.writableLength > 0 || connections.get(socket)?.isAnswered() !== false) {
      socket.destroy();
    }
  });
}
