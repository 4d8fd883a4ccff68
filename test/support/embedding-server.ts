/** HTTP servers of a test's own, such as a program that embeds the service has one. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

type RequestHandler = (incoming: IncomingMessage & { originalUrl?: string }, outgoing: ServerResponse) => void;

/** Serves on a free port until the test ends. Returns the port. */
export async function serve(context: TestContext, handler: RequestHandler): Promise<number> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port; // An address that is no path: it listens on a port.
}

export function say(outgoing: ServerResponse, text: string): void {
  outgoing.writeHead(200, { "Content-Length": text.length }).end(text);
}
