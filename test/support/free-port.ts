/** For programs that cannot pick a port themselves. */

import { createServer } from "node:net";

/**
 * A port that is free at this moment. None of those that the kernel gives to outgoing connections: while a server is
 * down, such a connection could take its port, or connect to itself.
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
