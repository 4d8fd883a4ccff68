/**
 * Stops a server without cutting off its responses.
 */

import type { Server } from "node:http";
import { Server as NetServer, Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { Connection } from "./connection.ts";

export interface StopTimes {
  /** When idle connections are closed: before, a request may be on its way. */
  readonly idleMs: number;
  /** When all others are. */
  readonly graceMs: number;
}

/** Takes no new connections, and closes each present one after its next response. Resolves when all are closed. */
export async function stopServer(
  server: Server,
  connections: ReadonlyMap<Duplex, Connection>,
  { idleMs, graceMs }: StopTimes,
): Promise<void> {
  // Not the method of node:http: that destroys connections whose response is written but not yet read by the client.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  let keepsIdle = true;
  const closeIdle = (): void => {
    if (!keepsIdle && ![...connections.values()].some((connection) => connection.seemsIdle())) {
      server.closeIdleConnections();
    }
  };
  for (const [socket, connection] of connections) {
    connection.stop(closeIdle);
    socket.once("close", closeIdle);
  }
  const idleTimer = setTimeout(() => {
    keepsIdle = false;
    for (const socket of connections.keys()) {
      if (socket instanceof Socket && socket.bytesRead === 0) {
        socket.destroy(); // Node counts it as busy. Browsers open such connections in advance.
      }
    }
    closeIdle();
  }, idleMs);
  const graceTimer = setTimeout(() => {
    server.closeAllConnections();
    connections.forEach((_, socket) => socket.destroy()); // Node does not close those of CONNECT.
  }, graceMs);
  await closed;
  clearTimeout(idleTimer);
  clearTimeout(graceTimer);
}
