/**
 * Cuts off clients that do not read their response.
 */

import type { Server } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { Connection } from "./connection.ts";

export interface ReaderTimes {
  /** A client that reads nothing of waiting output is cut off after this time, or up to twice as long. */
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
      // If the client reads anything during a time-out, Node begins another one at its end. So a client that reads
      // nothing is cut off after one to two time-outs. Node may remove a time-out at the next request.
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
    // With a listener here, Node does not destroy idle connections by itself. A client whose response is still being
    // made has nothing to read, so it is not cut off.
    if (socket.writableLength > 0 || connections.get(socket)?.isAnswered() !== false) {
      socket.destroy();
    }
  });
}
