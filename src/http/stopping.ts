/**
 * Stopping a server without cutting off what it is answering.
 */

import type { Server } from "node:http";
import { Server as NetServer, Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { Connection } from "./connection.ts";

/**
 * Takes no new connections, and closes each of the present ones when its response is out, or after `graceMs`. Resolves
 * when all are closed.
 */
export async function stopServer(
  server: Server,
  connections: ReadonlyMap<Duplex, Connection>,
  graceMs: number,
): Promise<void> {
  // Not the method of node:http: that destroys connections whose response is written but not yet read by the client.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  const closeIdle = (): void => {
    if (![...connections.values()].some((connection) => connection.isBeingTaken())) {
      server.closeIdleConnections();
    }
  };
  for (const [socket, connection] of connections) {
    if (socket instanceof Socket && socket.bytesRead === 0) {
      socket.destroy(); // Node counts it as busy. Browsers open such connections in advance.
    } else {
      connection.stop(closeIdle);
    }
  }
  closeIdle();
  const timer = setTimeout(() => {
    server.closeAllConnections();
    connections.forEach((_, socket) => socket.destroy()); // Those of CONNECT are not Node's.
  }, graceMs);
  await closed;
  clearTimeout(timer);
  server.close(); // Ends what Node still runs for it.
}
