import { createServer, type Server } from "node:http";

import { originForm } from "./message.ts";

export interface MetricsPage {
  readonly contentType: string;
  readonly content: () => string;
}

const path = "/metrics";
const plainText = "text/plain; charset=utf-8";

/** Serves nothing but the metrics, on a port of their own, to tools such as Prometheus. */
export function createMetricsListener(page: MetricsPage): Server {
  return createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, ({ method, url = "" }, outgoing) => {
    if (originForm(url).split("?", 1)[0] !== path) {
      outgoing.writeHead(404, { "Content-Type": plainText }).end(`The only page is ${path}\n`);
    } else if (method !== "GET" && method !== "HEAD") {
      outgoing.writeHead(405, { "Content-Type": plainText, Allow: "GET, HEAD" }).end("Only GET and HEAD are allowed\n");
    } else {
      const content = Buffer.from(page.content());
      outgoing.writeHead(200, { "Content-Type": page.contentType, "Content-Length": content.length }).end(content);
    }
  });
}
