import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { listenerLimits } from "../../src/wire/listener-limits.ts";
import { createMetricsListener } from "../../src/wire/metrics-listener.ts";
import { Wire } from "../support/wire.ts";

test("createMetricsListener() serves the metrics to GET and HEAD; other methods are 405, and other paths 404", async (context) => {
  let count = 0;
  const server = createMetricsListener(() => `scrapes ${++count}\n`).listen(0, "127.0.0.1");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on a port.
  const table = [
    ["GET", "/metrics", 200, "scrapes 1\n"],
    ["GET", "/metrics?name=value", 200, "scrapes 2\n"],
    ["HEAD", "/metrics", 200, ""],
    ["POST", "/metrics", 405, "Only GET and HEAD are allowed\n"],
    ["GET", "/metrics/", 404, "The only page is /metrics\n"],
  ] as const;
  for (const [method, target, status, content] of table) {
    const response = await fetch(`http://127.0.0.1:${port}${target}`, { method });
    assert.deepEqual([response.status, await response.text()], [status, content], `${method} ${target}`);
    assert.equal(response.headers.get("content-type")?.includes("version=0.0.4"), status === 200);
    assert.equal(response.headers.get("allow"), status === 405 ? "GET, HEAD" : null);
  }
});

test("a connection to the metrics that sends nothing is closed after the time for the fields, so that others have its place", async (context) => {
  const limits = { ...listenerLimits, fieldsMs: 60, timeoutCheckMs: 20 };
  const server = createMetricsListener(() => "scrape\n", limits).listen(0, "127.0.0.1");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on a port.
  const silent = await Promise.all(Array.from({ length: server.maxConnections }, () => Wire.open(port, { isSecure: false })));
  await Promise.all(silent.map((wire) => wire.closed()));
  assert.equal((await fetch(`http://127.0.0.1:${port}/metrics`)).status, 200);
});
