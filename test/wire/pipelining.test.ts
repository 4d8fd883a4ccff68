/**
 * Requests that a client sends ahead of their responses (RFC 9112, 9.3.2): they are answered in order, up to a response
 * behind which the connection closes. PIPELINES sets how many random ones are tried in each mode, SEED replays them.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import type { Exchange } from "../../src/http/exchange.ts";
import { jsonResponse } from "../../src/http/response.ts";
import { Listener } from "../../src/wire/listener.ts";
import { one } from "../support/certificates.ts";
import { GatedStore } from "../support/gated-store.ts";
import { heapBytes } from "../support/heap-bytes.ts";
import { type RunningService, runningService } from "../support/running-service.ts";
import { seeded, type SeededRandom } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import { codeOf } from "../support/wire-response.ts";
import { exchange, request, type RequestParts, rex, Wire } from "../support/wire.ts";

const pipelineCount = Number(process.env["PIPELINES"] ?? "10");

/** Of a connection that can carry requests. */
const connectionEvent = process.env["ANIMAL_STORE_TEST_TLS"] === undefined ? "connection" : "secureConnection";

const post = { method: "POST", content: rex };
/** Those that the fast lane reads. Their responses are short, long, and later than the next turn. */
const plain: readonly RequestParts[] = [
  {}, { target: "/v1/pets?limit=100" }, { target: "/v1/pets/1" }, { method: "HEAD" }, { target: "/openapi.json" }, post, post,
  { method: "PATCH", target: "/v1/pets/1", content: '{"status":"sold"}', fields: ["If-Match: *"] }, { target: "/v1/nothing" },
];
const all: readonly RequestParts[] = [
  ...plain, ...plain, { method: "PUT", content: rex }, { fields: ["X-Empty:"] },
  { ...post, fields: ["Transfer-Encoding: chunked"], content: `1d\r\n${rex}\r\n0\r\n\r\n` },
];

interface Pipeline {
  readonly isSecure: boolean;
  readonly kinds: readonly RequestParts[];
  /** Of a packet but the last. */
  readonly bytesMin: number;
  readonly bytesMax: number;
}

/** Sends random requests in random packets. Returns how many got no response: those behind the ones that did, in order. */
async function lostOf(random: SeededRandom, { port, key }: RunningService, { isSecure, kinds, bytesMin, bytesMax }: Pipeline): Promise<number> {
  const parts = random.times(random.integer(2, 80), () => random.pick(kinds));
  const bytes = Buffer.concat(parts.map((one, index) => request({ ...one, key, fields: [...(one.fields ?? []), `X-Request-Id: q${index}`] })));
  const wire = await Wire.open(port, { isSecure });
  if (random.oneIn(3)) {
    wire.socket.pause();
  }
  for (let at = 0, end = 0; at < bytes.length; at = end) {
    end = at + random.integer(bytesMin, bytesMax);
    wire.send(bytes.subarray(at, end));
    for (let turns = random.integer(0, 2); turns > 0; turns--) {
      await eventLoopTurn();
    }
  }
  if (random.oneIn(3)) {
    wire.halfClose();
  }
  wire.socket.resume();
  for (const [index, { method = "GET" }] of parts.entries()) {
    const response = await wire.response(method).catch(() => undefined);
    if (response !== undefined) {
      assert.equal(response.value("x-request-id"), `q${index}`);
      assert.ok([200, 201, 404, 405].includes(response.status), response.text);
    }
    assert.ok(index > 0 || response !== undefined, "the first request is answered");
    if (response?.value("connection") !== "keep-alive") {
      assert.deepEqual(await wire.closed(), { ending: "end", rest: "" }); // Neither cut off, nor a part of a response.
      return parts.length - index - (response === undefined ? 0 : 1);
    }
  }
  wire.destroy();
  return 0;
}

const isAlwaysSecure = process.env["ANIMAL_STORE_TEST_TLS"] !== undefined;
for (const isSecure of isAlwaysSecure ? [true] : [false, true]) {
  for (const hasFastLane of [true, false]) {
    const mode = `${isSecure ? "over TLS" : "over TCP"}, ${hasFastLane ? "in the lane" : "by node:http"}`;
    const start = { hasFastLane, ...(isSecure ? { certificate: one } : {}) };

    test(`what is sent ahead is answered in order, or the connection closes behind a whole response; ${mode}`, seeded(async (random, context) => {
      const running = await runningService(context, start);
      for (let id = 1; id <= 100; id++) {
        await running.service.pets.add({ name: "Rex".padEnd(200, "x"), categoryId: 5 });
      }
      for (let count = 0; count < pipelineCount; count++) {
        await lostOf(random, running, { isSecure, kinds: all, bytesMin: 1, bytesMax: random.oneIn(2) ? 500 : 100_000 });
        if (hasFastLane) {
          const lostCount = await lostOf(random, running, { isSecure, kinds: plain, bytesMin: 1_000, bytesMax: 5_000 });
          assert.equal(lostCount, 0, "the lane answers all plain requests, wherever they are cut");
        }
      }
    }));

    test(`eight requests for 40 kB each, in packets that come together, are not malformed; ${mode}`, async (context) => {
      const { port } = await runningService(context, start);
      const wire = await Wire.open(port, { isSecure });
      for (let count = 1; count <= 8; count++) {
        wire.send(request({ target: "/openapi.json" }));
      }
      let count = 0;
      while (count < 8 && (await wire.response().then(({ status }) => status, () => undefined)) === 200) {
        count++;
      }
      assert.ok(hasFastLane ? count === 8 : count > 0, String(count));
      assert.equal(wire.pending, "");
      wire.destroy();
    });
  }
}

test("what a connection holds when it leaves the lane is read before what comes after that", async (context) => {
  const exchanges: Exchange[] = [];
  const onRequest = (exchange: Exchange): void => void exchanges.push(exchange);
  const listener = new Listener({ onRequest, onClientError: (code) => () => assert.fail(code) });
  await new Promise<void>((resolve) => listener.server.listen(0, "127.0.0.1", resolve));
  context.after(() => listener.stop(0));
  const connected = once(listener.server, "connection");
  const wire = await Wire.open((listener.server.address() as AddressInfo).port, { isSecure: false });
  const [socket] = (await connected) as [Socket];
  const sendAndWait = async (bytes: Buffer): Promise<void> => {
    const bytesRead = socket.bytesRead + bytes.length;
    wire.send(bytes);
    await until("the bytes have come", () => socket.bytesRead === bytesRead);
  };
  const content = `${"a".repeat(60_000)}${"b".repeat(5_000)}${"c".repeat(5_000)}`;
  const bytes = request({ method: "PUT", content });
  await sendAndWait(request({}));
  await sendAndWait(bytes.subarray(0, -10_000)); // Of which Node takes no more than a part before it is read.
  await sendAndWait(bytes.subarray(-10_000, -5_000));
  await exchanges[0]?.send(jsonResponse(200, ""), ["Content-Length", "0"]);
  await until("the second request is read", () => exchanges.length === 2);
  wire.send(bytes.subarray(-5_000));
  for (let turns = 0; turns < 20; turns++) {
    await eventLoopTurn(); // The rest may come.
  }
  assert.equal(Buffer.from(await exchanges[1]?.readContent(70_000) as Uint8Array).toString(), content);
  wire.destroy();
});

test("a request that is sent ahead sees what the one before it did, and is not handled once its client has gone", async (context) => {
  const store = new GatedStore();
  const { port, key, listener } = await runningService(context, { hasFastLane: true, options: { store } });
  const connected = once(listener.server, connectionEvent);
  const wire = await Wire.open(port);
  const [socket] = (await connected) as [Socket];
  wire.send(Buffer.concat(Array<Buffer>(3).fill(request({ ...post, key }))));
  await store.added(1);
  assert.equal(store.addCount, 1);
  store.open();
  await store.added(2);
  const closed = once(socket, "close");
  socket.destroy();
  await closed;
  store.open();
  await exchange(port, request({ target: "/healthz" }));
  assert.equal(store.addCount, 2);
  wire.destroy();
});

test("the response that is due is sent, whole, before a malformed request behind it is refused", async (context) => {
  const store = new GatedStore();
  const { port, key } = await runningService(context, { options: { store } });
  const wire = await Wire.open(port);
  wire.send(Buffer.concat([request({ ...post, key }), Buffer.from("malformed\r\n\r\n")]));
  await store.added(1);
  for (let sent = 0; sent < 24; sent++) {
    wire.send(Buffer.alloc(65_536, "x"));
    await exchange(port, request({ target: "/healthz" }));
  }
  store.open();
  assert.equal((await wire.response()).status, 201);
  assert.equal(codeOf(await wire.response()), "malformed_request");
  wire.destroy();
});

test("what is sent ahead takes not much memory, however much it is, whatever it is", async (context) => {
  const store = new GatedStore();
  const { port, key } = await runningService(context, { options: { store } });
  const chunked = request({ ...post, key, fields: ["Transfer-Encoding: chunked"], content: "1\r\n \r\n".repeat(10_000) });
  const upload = request({ ...post, key, content: Buffer.alloc(5_000_000) });
  const wires: Wire[] = [];
  const beforeBytes = heapBytes();
  for (let count = 1; count <= 20; count++) {
    const wire = await Wire.open(port);
    wires.push(wire.send(request({ ...post, key })));
    await store.added(count);
    wire.send(count % 2 === 0 ? chunked : upload);
  }
  for (let turn = 0; turn < 100; turn++) {
    await exchange(port, request({ target: "/healthz" }));
  }
  const takenBytes = heapBytes() - beforeBytes;
  wires.forEach((wire) => wire.destroy());
  store.open();
  assert.ok(takenBytes < 8_000_000, `it takes ${takenBytes} bytes`);
});
