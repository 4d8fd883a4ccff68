/**
 * Clients that are too slow are cut off, with an error response if they have begun a request. The limits of these tests
 * are short, and each test waits for the event itself; the service's own limits have a test of their own.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";

import { bounds } from "../../src/base/bounds.ts";
import { drainBytesMax, drainMs } from "../../src/wire/closing.ts";
import { listenerLimits } from "../../src/wire/listener-limits.ts";
import { one } from "../support/certificates.ts";
import { GatedStore } from "../support/gated-store.ts";
import { keyWithQuota, runningService } from "../support/running-service.ts";
import { assertPromised, codeOf } from "../support/wire-response.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

const limits = { fieldsMs: 100, requestMs: 200, timeoutCheckMs: 10 };

test("a client has 10 s for the fields, 30 s for a request and to read a response, and 75 s between requests; a stop takes 10 s", () => {
  const { fieldsMs, requestMs, stalledReaderMs, idleMs, timeoutCheckMs, stopIdleMs } = listenerLimits;
  assert.deepEqual([fieldsMs, requestMs, stalledReaderMs, idleMs], [10_000, 30_000, 30_000, 75_000]);
  assert.deepEqual([drainBytesMax, drainMs], [1_048_576, 2_000]);
  assert.ok(timeoutCheckMs <= 1_000 && stopIdleMs < bounds.stopMs && bounds.stopMs < 10_000);
});

test("fields that take too long are 408, also if only an empty line came, then the connection closes", async (context) => {
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

test("what comes after the 408 is not handled and takes no token, also if it makes the request whole", async (context) => {
  const store = new GatedStore();
  const running = await runningService(context, { limits, options: { store } });
  const { port } = running;
  const key = await keyWithQuota(running, 10);
  const whole = request({ method: "POST", key, content: rex });
  const list = request({ key });
  const connect = request({ method: "CONNECT", target: "example.com:443", key });
  for (const [isKept, bytes] of [[false, whole], [true, whole], [false, list], [false, connect]] as const) {
    const wire = await Wire.open(port);
    if (isKept) {
      assert.equal((await wire.send(request({ target: "/healthz" })).response()).status, 200);
    }
    assert.equal(codeOf(await wire.send(bytes.subarray(0, 40)).response()), "request_timeout");
    wire.send(bytes.subarray(40)).halfClose();
    assert.equal((await wire.closed()).rest, "");
    // Its bytes have been read before those of a later connection.
    assert.equal((await exchange(port, request({ target: "/healthz" }))).status, 200);
  }
  assert.equal(store.addCount, 0);
  assert.equal((await exchange(port, list)).value("x-ratelimit-remaining"), "9");
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

test("a connection that never sent a byte is closed without a response", async (context) => {
  const { port } = await runningService(context, { limits });
  const wire = await Wire.open(port);
  assert.equal((await wire.closed()).rest, "");
});

test("a slow request after one that is still under way is 408, after the response to that one", async (context) => {
  const store = new GatedStore();
  const { port, key, listener } = await runningService(context, { limits, options: { store }, hasFastLane: false });
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

test("a request whose response takes long is not cut off, also after a response that waited for its reader", async (context) => {
  const store = new GatedStore();
  store.listJson = `[${"1,".repeat(5_000_000)}1]`;
  const { port, key, listener } = await runningService(context, {
    limits: { stalledReaderMs: 200, timeoutCheckMs: 10 },
    options: { store },
  });
  const stall = async (): Promise<readonly [client: Wire, server: Socket]> => {
    const connected = once(listener.server, "connection");
    const wire = await Wire.open(port);
    wire.socket.pause();
    wire.send(request({ key }));
    const [socket] = (await connected) as [Socket];
    while (socket.writableLength === 0) {
      await immediate();
    }
    return [wire, socket];
  };
  const [wire] = await stall();
  wire.socket.resume();
  assert.equal((await wire.response()).status, 200);
  wire.send(request({ method: "POST", key, content: rex }));
  await store.added(1);
  const [, cutOff] = await stall();
  await once(cutOff, "close"); // So more than the time of a stalled reader has passed.
  store.open();
  assert.equal((await wire.response()).status, 201);
  wire.destroy();
});

for (const hasFastLane of [true, false]) {
  for (const isSecure of [false, true]) {
    const way = `${hasFastLane ? "in the lane" : "by node:http"}${isSecure ? ", over TLS" : ""}`;
    test(`a client that reads nothing is cut off ${way}, also after CONNECT, and whatever it sends`, async (context) => {
      const store = new GatedStore();
      store.listJson = `[${"1,".repeat(20_000_000)}1]`;
      const limits = { stalledReaderMs: 100, timeoutCheckMs: 10 };
      const certificate = isSecure ? { certificate: one } : {};
      const { port, key, listener } = await runningService(context, { limits, options: { store }, hasFastLane, ...certificate });
      for (const next of [Buffer.of(), request({ method: "CONNECT", target: "example.com:443", key }), request({ key })]) {
        const cut = new Promise<void>((resolve) => {
          listener.server.once("connection", (socket) => socket.once("close", () => resolve()));
        });
        const wire = await Wire.open(port, isSecure ? { isSecure } : {});
        wire.socket.pause();
        wire.send(Buffer.concat([request({ key }), next]));
        const drip = setInterval(() => wire.send("\r"), 20);
        await cut;
        clearInterval(drip);
        wire.destroy();
      }
    });
  }
}

test("a connection that idles between requests is closed", async (context) => {
  const { port, key } = await runningService(context, { limits: { idleMs: 100 } });
  const wire = await Wire.open(port);
  const response = await wire.send(request({ key })).response();
  assert.match(response.value("keep-alive") ?? "", /^timeout=/);
  assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
});

test("a connection whose client has half-closed is closed as soon as its response is out", async (context) => {
  const { port, key, listener } = await runningService(context);
  const chunked = "Transfer-Encoding: chunked";
  const table: readonly (readonly [status: number, bytes: Buffer])[] = [
    [400, request({ method: "POST", key, fields: ["Content-Length: 30"], content: rex })],
    [400, request({ method: "POST", key, fields: [chunked], content: `1d\r\n${rex}\r\nzz\r\n` })],
    [400, request({ method: "POST", key, fields: [chunked], content: `1d\r\n${rex}\r\n` })],
    [400, request({ method: "POST", key, fields: ["Host: a", "Host: b", "Content-Length: 30"], content: rex })],
    [401, request({ method: "POST", fields: ["Content-Length: 30"], content: rex })],
    [201, request({ method: "POST", key, content: rex })],
    [204, request({ method: "OPTIONS", key, fields: ["Content-Length: 30"], content: rex })],
    [404, request({ method: "HEAD", target: "/v1/nothing", key, fields: ["Content-Length: 30"], content: rex })],
    [413, request({ method: "POST", key, fields: ["Content-Length: 20000"], content: rex })],
    [400, Buffer.from("garbage\r\n\r\n")],
    [400, Buffer.from("GET /v1/pets HT")],
  ];
  const startMs = performance.now();
  for (const [status, bytes] of table) {
    const connection = once(listener.server, "connection");
    const wire = await Wire.open(port);
    const [socket] = (await connection) as [Socket];
    const closed = once(socket, "close");
    wire.send(bytes).halfClose();
    const method = String(bytes).split(" ", 1)[0];
    assert.equal((await wire.response(method)).status, status, String(bytes));
    await closed;
    assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
    assert.ok(performance.now() - startMs < drainMs, `waited: ${String(bytes)}`);
  }
});

test("a response given before the content has come closes the sending side at once", async (context) => {
  const { port, key } = await runningService(context);
  const parts = [[401, {}], [413, { key }], [404, { key, target: "/v1/nothing" }], [200, { key, method: "HEAD" }]] as const;
  for (const [status, part] of parts) {
    const startMs = performance.now();
    const wire = await Wire.open(port);
    wire.send(request({ method: "POST", fields: ["Content-Length: 20000"], ...part }));
    assert.equal((await wire.response(status === 200 ? "HEAD" : "POST")).status, status);
    assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
    assert.ok(performance.now() - startMs < drainMs);
  }
});
