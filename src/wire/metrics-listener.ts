import { createServer, type Server } from "node:http";

import { bounds } from "../base/bounds.ts";
import { originForm } from "../http/message.ts";
import { closeAfterResponse } from "./closing.ts";
import { type ListenerLimits, listenerLimits } from "./listener-limits.ts";

/** More than the tools that read the page need. Bounded, because each connection takes a descriptor. */
const metricsConnectionsMax = 16;

const path = "/metrics";
const plainText = "text/plain; charset=utf-8";
/** The media type of the Prometheus text format. */
const metricsText = "text/plain; version=0.0.4; charset=utf-8";

/** Serves nothing but the metrics, on a port of their own, to tools such as Prometheus. */
export function createMetricsListener(metrics: () => string, limits: ListenerLimits = listenerLimits): Server {
  const { fieldsMs, timeoutCheckMs } = limits;
  const times = { requestTimeout: fieldsMs, headersTimeout: fieldsMs, connectionsCheckingInterval: timeoutCheckMs };
  const server = createServer(times, (incoming, outgoing) => {
    const { method, url = "", socket } = incoming;
    outgoing.shouldKeepAlive = false; // A packet may hold thousands of requests, and Node would store all responses.
    closeAfterResponse(socket);
    if (originForm(url).split("?", 1)[0] !== path) {
      outgoing.writeHead(404, { "Content-Type": plainText }).end(`The only page is ${path}\n`);
    } else if (method !== "GET" && method !== "HEAD") {
      outgoing.writeHead(405, { "Content-Type": plainText, Allow: "GET, HEAD" }).end("Only GET and HEAD are allowed\n");
    } else {
      const content = Buffer.from(metrics());
      outgoing.writeHead(200, { "Content-Type": metricsText, "Content-Length": content.length }).end(content);
    }
  });
  server.maxConnections = metricsConnectionsMax;
  server.maxHeadersCount = bounds.fieldCountMax; // No field matters here, so Node may drop the others.
  return server;
}
