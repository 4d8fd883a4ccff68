import { createServer, type Server } from "node:http";

import { originForm } from "./message.ts";

/** Served alone on its own port, for tools such as Prometheus. */
export interface Page {
  readonly path: string;
  readonly contentType: string;
  readonly content: () => string;
}

const plainText = "text/plain; charset=utf-8";

export function createPageListener(page: Page): Server {
  return createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, ({ method, url = "" }, outgoing) => {
    const [path] = originForm(url).split("?", 1);
    if (path !== page.path) {
      outgoing.writeHead(404, { "Content-Type": plainText }).end(`The only page is ${page.path}\n`);
    } else if (method !== "GET" && method !== "HEAD") {
      outgoing.writeHead(405, { "Content-Type": plainText, Allow: "GET, HEAD" }).end("Only GET and HEAD are allowed\n");
    } else {
      const content = Buffer.from(page.content());
      outgoing.writeHead(200, { "Content-Type": page.contentType, "Content-Length": content.length }).end(content);
    }
  });
}
