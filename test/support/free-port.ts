/** Finds a free port for programs that cannot choose one themselves. */

import { createServer } from "node:net";

/**
 * Returns a port that is free at this moment, outside the range that the kernel uses for outgoing connections: while a
 * server is down, such a connection could take its port, or connect to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
    });
    await new Promise((resolve) => server.close(resolve));
    if (isFree) {
      return port;
    }
  }
}
