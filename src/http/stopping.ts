/**
 * Stops a server without cutting off its responses.
 */

import type { Server } from "node:http";
import { Server as NetServer, Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { Connection } from "./connection.ts";

/**
 * Takes no new connections. Closes each present one when its response has been sent, or after `graceMs`. Resolves when
 * all are closed.
 */
export async function stopServer(
  server: Server,
  connections: ReadonlyMap<Duplex, Connection>,
  graceMs: number,
): Promise<void> {
  // Not the method of node:http: that destroys connections whose response is written but not yet read by the client.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  const closeIdle = (): void => {
    if (![...connections.values()].some((connection) => connection.seemsIdle())) {
      server.closeIdleConnections();
    }
  };
  for (const [socket, connection] of connections) {
    if (socket instanceof Socket && socket.bytesRead === 0) {
      socket.destroy(); // Node counts it as busy. Browsers open such connections in advance.
    } else {
      connection.stop(closeIdle);
      socket.once("close", closeIdle);
    }
  }
  closeIdle();
  const timer = setTimeout(() => {
    server.closeAllConnections();
    connections.forEach((_, socket) => socket.destroy()); // Node does not close those of CONNECT.
  }, graceMs);
  await closed;
  clearTimeout(timer);
  server.close(); // Stops Node's periodic check of time-outs.
}
