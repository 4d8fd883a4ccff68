/**
 * A server of a single page for operators' programs, on a port of its own.
 */

import { createServer, type Server } from "node:http";

export interface Page {
  readonly path: string;
  readonly contentType: string;
  readonly content: () => string;
}

export function createPageListener(page: Page): Server {
  return createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (incoming, outgoing) => {
    const isRead = incoming.method === "GET" || incoming.method === "HEAD";
    const path = (incoming.url ?? "").split("?", 1)[0];
    if (path !== page.path || !isRead) {
      outgoing.writeHead(path === page.path ? 405 : 404, { "Content-Type": "text/plain; charset=utf-8" });
      outgoing.end(path === page.path ? "Only GET and HEAD\n" : `Only ${page.path} is here\n`);
      return;
    }
    const content = Buffer.from(page.content());
    outgoing.writeHead(200, { "Content-Type": page.contentType, "Content-Length": content.length });
    outgoing.end(content);
  });
}
