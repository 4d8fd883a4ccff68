/**
 * Whoever is too slow is cut off, and told so where there is something to answer (contract, section 4, "Times"). The
 * limits are short ones, and each test waits for the event itself.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";

import { GatedStore } from "../support/gated-store.ts";
import { runningService } from "../support/running-service.ts";
import { assertPromised, codeOf } from "../support/wire-response.ts";
import { request, rex, Wire } from "../support/wire.ts";

const limits = { fieldsMs: 100, requestMs: 200, timeoutCheckMs: 10, drainMs: 50 };

test("fields that take too long are 408, also where only an empty line came, then the connection closes", async (context) => {
  const { port } = await runningService(context, { limits });
  for (const start of ["G", "GET /v1/pets HTTP/1.1\r\n", "GET /v1/pets HTTP/1.1\r\nHost: a\r\nX", "\r\n"]) {
    const wire = await Wire.open(port);
    const response = await wire.send(start).response();
    assert.equal(codeOf(response), "request_timeout");
    assertPromised(response);
    assert.equal(response.value("x-ratelimit-remaining"), "60");
    assert.equal(response.value("connection"), "close");
    assert.equal((await wire.closed()).rest, "");
  }
});

test("content that takes too long is 408 with the key's fields, and nothing is stored", async (context) => {
  const store = new GatedStore();
  const { port, key } = await runningService(context, { limits, options: { store } });
  const framings = ["Content-Length: 30", "Transfer-Encoding: chunked"];
  await Promise.all(framings.map(async (framing) => {
    const wire = await Wire.open(port);
    wire.send(request({ method: "POST", key, fields: [framing] })).send("1");
    const response = await wire.response();
    assert.equal(codeOf(response), "request_timeout");
    assertPromised(response);
    assert.equal(response.value("x-ratelimit-limit"), "10000000");
    assert.equal((await wire.closed()).rest, "");
  }));
  assert.equal(store.addCount, 0);
});

test("a connection that never sent a byte is closed without an answer", async (context) => {
  const { port } = await runningService(context, { limits });
  const wire = await Wire.open(port);
  assert.equal((await wire.closed()).rest, "");
});

test("a slow request behind one that is still being answered is 408 after that one's answer", async (context) => {
  const store = new GatedStore();
  const { port, key, listener } = await runningService(context, { limits, options: { store } });
  const late = once(listener.server, "clientError");
  const wire = await Wire.open(port);
  wire.send(request({ method: "POST", key, content: rex })).send("GET /v1/pets HT");
  await late;
  assert.equal(wire.pending, "");
  store.open();
  assert.equal((await wire.response()).status, 201);
  assert.equal(codeOf(await wire.response()), "request_timeout");
  assert.equal((await wire.closed()).rest, "");
});

test("a request that we are slow to answer is not cut off, not even behind an answer that waited for its reader", async (context) => {
  const store = new GatedStore();
  store.listJson = `[${"1,".repeat(5_000_000)}1]`;
  const { port, key, listener } = await runningService(context, {
    limits: { stalledReaderMs: 200, timeoutCheckMs: 10 },
    options: { store },
  });
  const connected = once(listener.server, "connection");
  const quiet = once(listener.server, "timeout");
  const wire = await Wire.open(port);
  wire.socket.pause();
  wire.send(request({ key })).send(request({ method: "POST", key, content: rex }));
  const [socket] = (await connected) as [Socket];
  while (socket.timeout !== 200) {
    await immediate();
  }
  wire.socket.resume();
  assert.equal((await wire.response()).status, 200);
  await quiet;
  store.open();
  assert.equal((await wire.response()).status, 201);
  wire.destroy();
});

test("a reader that takes nothing is cut off", async (context) => {
  const store = new GatedStore();
  store.listJson = `[${"1,".repeat(20_000_000)}1]`;
  const { port, key, listener } = await runningService(context, { limits: { stalledReaderMs: 100, timeoutCheckMs: 10 }, options: { store } });
  const cut = new Promise<void>((resolve) => {
    listener.server.once("connection", (socket) => socket.once("close", () => resolve()));
  });
  const wire = await Wire.open(port);
  wire.socket.pause();
  wire.send(request({ key }));
  await cut;
  wire.destroy();
});

test("a connection that idles between requests is closed, one that does not is kept", async (context) => {
  const { port, key } = await runningService(context, { limits: { idleMs: 100 } });
  const wire = await Wire.open(port);
  const response = await wire.send(request({ key })).response();
  assert.match(response.value("keep-alive") ?? "", /^timeout=/);
  assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
});
