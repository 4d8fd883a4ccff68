/**
 * The fast lane: which requests node:http never sees, that their responses are the same, and that the limits on a
 * connection of node:http hold for one in the lane.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { drainMs } from "../../src/wire/closing.ts";
import { GatedStore } from "../support/gated-store.ts";
import { heapBytes } from "../support/heap-bytes.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { type RunningService, runningService, type Start } from "../support/running-service.ts";
import { codeOf, type WireResponse } from "../support/wire-response.ts";
import { petOfBytes, request, type RequestParts, rex, Wire } from "../support/wire.ts";

interface Watched extends RunningService {
  /** How many requests node:http has read. */
  readonly nodeCount: () => number;
}

async function withLane(context: TestContext, start: Start = {}): Promise<Watched> {
  const running = await runningService(context, { hasFastLane: true, ...start });
  let count = 0;
  const server: Server = running.listener.server;
  ["request", "checkContinue", "connect", "clientError"].forEach((event) => server.prependListener(event, () => count++));
  return { ...running, nodeCount: () => count };
}

/** What is the same in each run. */
function comparable({ status, text, content }: WireResponse): unknown {
  return [status, text.replace(/^(Date|X-RateLimit-Reset): .*$/gm, "$1"), content];
}

const post = { method: "POST", content: rex };
const patch = { method: "PATCH", target: "/v1/pets/1", content: '{"status":"pending"}' };

test("plain requests get the same responses, byte for byte, in the lane and from node:http", async (context) => {
  const origin = "https://shop.example";
  const start = { clock: new ManualClock(), options: { corsOrigins: [origin] } };
  const lane = await withLane(context, start);
  const node = await runningService(context, { ...start, hasFastLane: false });
  const table: readonly RequestParts[] = [
    {}, { target: "/v1/pets?limit=2&status=sold" }, { target: "/v1/pets?limit=0" }, { target: "/v1/limits" }, post,
    { ...post, content: '{"name":"Zoë","categoryId":1}' }, { ...post, content: "{" }, { ...post, fields: ["Content-Type: text/plain"] },
    { target: "/v1/pets?limit=1" }, { target: "/v1/pets/1" }, { target: "/v1/pets/9" }, { target: "/v1/nothing" },
    { target: "/v1/pets/1", fields: ['If-None-Match: "available"'] }, { target: "/v1/pets/1", fields: [`Origin: ${origin}`] },
    patch, { ...patch, fields: ['If-Match: "available"'] }, { ...patch, fields: ['If-Match: "available"'] },
    { method: "HEAD" }, { method: "HEAD", target: "/v1/pets/1" }, { method: "HEAD", target: "/healthz" }, { method: "OPTIONS" },
    { method: "OPTIONS", fields: [`Origin: ${origin}`, "Access-Control-Request-Method: PATCH"] }, { fields: ["Content-Length: 0"] },
    { target: "/healthz" }, { target: "/openapi.json" }, { target: "/favicon.ico" }, { ...post, target: "/v1/limits" },
  ];
  const [first, second] = [await Wire.open(lane.port), await Wire.open(node.port)];
  for (const [index, parts] of table.entries()) {
    const fields = [`X-Request-Id: r${index}`, ...(parts.fields ?? [])];
    const [one, other] = [first, second].map((wire, place) =>
      wire.send(request({ ...parts, key: [lane, node][place]!.key, fields })).response(parts.method));
    assert.deepEqual(comparable(await one!), comparable(await other!), JSON.stringify(parts));
  }
  for (const parts of [{}, { key: "as_wrong" }]) {
    const [one, other] = [first, second].map((wire) => wire.send(request({ ...parts, fields: ["X-Request-Id: r"] })).response());
    assert.deepEqual(comparable(await one!), comparable(await other!));
  }
  assert.equal(lane.nodeCount(), 0);
});

test("whatever is not one plain request is read by node:http, and all that follows on its connection", async (context) => {
  const { port, key, nodeCount } = await withLane(context);
  const plain = request({ key });
  const cases: Readonly<Record<string, readonly (string | Buffer)[]>> = {
    "a request in two packets": [plain.subarray(0, 9), plain.subarray(9)],
    "another method": [request({ key, method: "PUT", content: rex })],
    "HTTP/1.0": [request({ key, version: "1.0", fields: ["Connection: keep-alive"] })],
    Expect: [request({ ...post, key, fields: ["Expect: 100-continue"] })],
    "a chunked content": [request({ ...post, key, content: `1d\r\n${rex}\r\n0\r\n\r\n`, fields: ["Transfer-Encoding: chunked"] })],
    "a repeated field": [request({ key, fields: ["X-A: 1", "x-a: 2"] })],
    "an empty field": [request({ key, fields: ["X-A:"] })],
    "a field that is not ASCII": [request({ key, fields: ["X-A: \xe9"] })],
    "content with GET": [request({ key, content: rex })],
    "no content with POST": [request({ key, method: "POST" })],
    "more than 8 kB": [request({ ...post, key, content: petOfBytes(8_192) })],
    "more than 100 fields": [request({ key, fields: Array.from({ length: 101 }, (_, index) => `X-${index}: a`) })],
    "no Host": [Buffer.from("GET /healthz HTTP/1.1\r\nX: a\r\n\r\n")],
    "Connection: close": [request({ key, fields: ["Connection: close"] })],
    "a line that ends with LF": ["GET /healthz HTTP/1.1\nHost: a\n\n"],
  };
  for (const [name, packets] of Object.entries(cases)) {
    const wire = await Wire.open(port);
    assert.equal((await wire.send(plain).response()).status, 200);
    const before = nodeCount();
    for (const packet of packets) {
      wire.send(packet);
      await Wire.open(port).then((other) => other.send(plain).response().finally(() => other.destroy()));
    }
    const response = await wire.response();
    assert.ok(nodeCount() > before, name);
    if (response.value("connection") === "keep-alive" && response.status !== 100) {
      const counted = nodeCount();
      wire.send(plain);
      await wire.response();
      assert.ok(nodeCount() > counted, `${name}: what follows`);
    }
    wire.destroy();
  }
});

test("content that comes in a second packet stays in the lane; what never comes is 408, and a half-close 400", async (context) => {
  const { port, key, nodeCount } = await withLane(context);
  const bytes = request({ ...post, key });
  const head = bytes.subarray(0, -rex.length);
  const whole = (await Wire.open(port)).send(head);
  whole.send(bytes.subarray(head.length));
  assert.equal((await whole.response()).status, 201);
  assert.equal(nodeCount(), 0);
  whole.destroy();
  const cut = (await Wire.open(port)).send(head).halfClose();
  assert.equal(codeOf(await cut.response()), "malformed_request");
  assert.equal((await cut.closed()).rest, "");
  const hurried = await withLane(context, { limits: { fieldsMs: 200, requestMs: 200, timeoutCheckMs: 20 } });
  const late = (await Wire.open(hurried.port)).send(request({ ...post, key: hurried.key }).subarray(0, head.length));
  assert.equal(codeOf(await late.response()), "request_timeout");
  assert.equal((await late.closed()).rest, "");
});

test("what comes while a response is due waits for its turn, and a half-close loses no response, in the lane too", async (context) => {
  const store = new GatedStore();
  const { port, key } = await withLane(context, { options: { store } });
  const [wire, closing] = [await Wire.open(port), await Wire.open(port)];
  wire.send(request({ ...post, key }));
  closing.send(request({ ...post, key })).halfClose();
  await store.added(2);
  wire.send(Buffer.concat([request({ ...post, key }), request({ key })])); // Two in a packet are not plain.
  store.open();
  assert.equal((await closing.response()).status, 201);
  assert.equal((await closing.closed()).ending, "end");
  assert.equal((await wire.response()).status, 201);
  await store.added(3);
  store.open();
  assert.equal((await wire.response()).status, 201);
  assert.equal((await wire.response()).status, 200);
  wire.destroy();
});

test("a half-close behind a request that waits for its turn closes the connection after its response", async (context) => {
  const store = new GatedStore();
  const { port, key, listener } = await withLane(context, { options: { store } });
  const ended: Promise<unknown>[] = [];
  for (const event of ["connection", "secureConnection"]) {
    listener.server.once(event, (socket: Socket) => ended.push(once(socket, "end")));
  }
  const wire = await Wire.open(port);
  wire.send(request({ ...post, key }));
  await store.added(1);
  wire.send(request({ key })).halfClose();
  await Promise.race(ended);
  store.open();
  assert.deepEqual([(await wire.response()).status, (await wire.response()).status], [201, 200]);
  assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
});

test("in the lane, an idle connection, one that never sent a byte, and a stalled reader are closed in time", async (context) => {
  const store = new GatedStore();
  store.listJson = `[${"1,".repeat(8_000_000)}1]`;
  const limits = { fieldsMs: 40, idleMs: 80, stalledReaderMs: 80, timeoutCheckMs: 20 };
  const { listener, port, key, nodeCount } = await withLane(context, { limits, options: { store } });
  const closed: Promise<unknown>[] = [];
  listener.server.on("connection", (socket: Socket) => closed.push(once(socket, "close")));
  const stalled = await Wire.open(port);
  stalled.socket.pause();
  stalled.send(request({ key }));
  const idle = (await Wire.open(port)).send(request({ target: "/healthz" }));
  assert.equal((await idle.response()).status, 200);
  const never = await Wire.open(port);
  await Promise.all(closed);
  for (const wire of [never, idle]) {
    assert.equal((await wire.closed()).rest, "");
  }
  stalled.socket.resume();
  assert.ok((await stalled.closed()).rest.length < store.listJson.length);
  assert.deepEqual([closed.length, nodeCount()], [3, 0]);
});

test("a stop waits for the responses that are due in the lane, closes their connections, and waits for no idle one", async (context) => {
  const store = new GatedStore();
  const { listener, port, key, nodeCount } = await withLane(context, { options: { store } });
  const [busy, idle] = [await Wire.open(port), await Wire.open(port)];
  await idle.send(request({ target: "/healthz" })).response();
  busy.send(request({ ...post, key }));
  await store.added(1);
  const stopped = listener.stop(60_000);
  assert.equal((await idle.closed()).rest, "");
  store.open();
  const response = await busy.response();
  assert.deepEqual([response.status, response.value("connection")], [201, "close"]);
  assert.equal((await busy.closed()).rest, "");
  await stopped;
  assert.equal(nodeCount(), 0);
});

test("in the lane, a stop waits for a slow reader of the last response longer than for what follows it", async (context) => {
  const store = new GatedStore();
  store.listJson = `[${"1,".repeat(8_000_000)}1]`;
  const list = store.list.bind(store);
  store.list = async () => {
    await store.add({ name: "Rex", categoryId: 1n, status: "available" });
    return list();
  };
  const { listener, port, key, nodeCount } = await withLane(context, { options: { store } });
  const wire = await Wire.open(port);
  wire.send(request({ key }));
  await store.added(1);
  wire.socket.pause();
  const stopped = listener.stop(60_000);
  store.open();
  await delay(drainMs + 300);
  wire.socket.resume();
  assert.equal((await wire.response()).contentBytes, store.listJson.length);
  assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
  await stopped;
  assert.equal(nodeCount(), 0);
});

/** Without buffers, which Node frees later. */
function textBytes(): number {
  heapBytes();
  return process.memoryUsage().heapUsed;
}

type Take = (running: RunningService, target: string) => Promise<readonly Wire[]>;

/** Heap that each connection, or field, takes if its request has a target of so many bytes. */
async function heapOfEach(context: TestContext, targetBytes: number, take: Take): Promise<number> {
  const running = await withLane(context);
  const target = `/v1/pets?${"x".repeat(targetBytes)}`;
  (await take(running, "/v1/pets")).forEach((wire) => wire.destroy()); // Whatever is made once is there.
  const before = textBytes();
  const wires = await take(running, target);
  const taken = textBytes() - before;
  assert.equal(running.nodeCount(), 0);
  wires.forEach((wire) => wire.destroy());
  return taken / heldCount;
}
const heldCount = 256;

test("an idle connection in the lane does not hold its last packet", async (context) => {
  const take: Take = ({ port, key }, target) =>
    Promise.all(Array.from({ length: heldCount }, async () => {
      const wire = await Wire.open(port);
      await wire.send(request({ key, target, fields: ["X-Long: ".padEnd(80, "x")] })).response();
      return wire;
    }));
  const [short, long] = [await heapOfEach(context, 10, take), await heapOfEach(context, 7_600, take)];
  assert.ok(long - short < 3_000, `${long} bytes after a long packet, ${short} after a short one`);
});

test("a field of a valid key, which the keyring keeps, does not hold its packet", async (context) => {
  const take: Take = async ({ port, service }, target) => {
    const keys: string[] = [];
    while (keys.length < heldCount) {
      keys.push((await service.keys.create()).key);
    }
    const wire = await Wire.open(port);
    for (const key of keys) {
      await wire.send(request({ key, fields: [`X-Long: ${target}`] })).response();
    }
    return [wire];
  };
  const [short, long] = [await heapOfEach(context, 10, take), await heapOfEach(context, 7_600, take)];
  assert.ok(long - short < 3_000, `${long} bytes after a long packet, ${short} after a short one`);
});
