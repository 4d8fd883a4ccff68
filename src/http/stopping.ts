/**
 * Stops a server without cutting off its responses.
 */

import type { Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";

import type { Connection } from "./connection.ts";

export type Connections = ReadonlyMap<Socket, Connection>;

export interface StopTimes {
  /** How often idle connections are closed. Not at once: a request may be on its way. */
  readonly idleMs: number;
  /** When all others are. */
  readonly graceMs: number;
}

/** Takes no new connections, and closes each present one after its next response. Resolves when all are closed. */
export async function stopServer(
  server: Server,
  connections: Connections,
  { idleMs, graceMs }: StopTimes,
): Promise<void> {
  // Not the method of node:http: that destroys connections whose response is written but not yet read by the client.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  connections.forEach((connection) => connection.stop());
  const idleTimer = setInterval(() => {
    for (const socket of connections.keys()) {
      if (socket.bytesRead === 0) {
        socket.destroy(); // Node counts it as busy. Browsers open such connections in advance.
      }
    }
    if (![...connections.values()].some((connection) => connection.seemsIdle())) {
      server.closeIdleConnections();
    }
  }, idleMs);
  const graceTimer = setTimeout(() => {
    server.closeAllConnections();
    connections.forEach((_, socket) => socket.destroy()); // Node does not close those of CONNECT.
  }, graceMs);
  await closed;
  clearInterval(idleTimer);
  clearTimeout(graceTimer);
}
