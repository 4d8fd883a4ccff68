/**
 * Pipelined requests (RFC 9112, 9.3.2): they are handled one after another, and the bytes of those that wait stay where
 * they do not fill the memory of this process.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";

import type { Listener } from "../../src/wire/listener.ts";
import { GatedStore } from "../support/gated-store.ts";
import { heapBytes } from "../support/heap-bytes.ts";
import { keyWithQuota, runningService } from "../support/running-service.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

/** A connection, and the server's socket of it. */
async function openBoth(listener: Listener, port: number): Promise<{ wire: Wire; socket: Socket }> {
  const connection = once(listener.server, "connection");
  const wire = await Wire.open(port);
  const [socket] = (await connection) as [Socket];
  return { wire, socket };
}

test("a pipelined request is handled after the response to the one before it: a GET finds the animal of the POST", async (context) => {
  const { port, key } = await runningService(context);
  const wire = await Wire.open(port);
  wire.send(Buffer.concat([request({ method: "POST", key, content: rex }), request({ target: "/v1/pets/1", key }), request({ key })]));
  const [created, found, listed] = [await wire.response(), await wire.response(), await wire.response()];
  assert.deepEqual([created.status, found.status, listed.status], [201, 200, 200]);
  assert.equal(found.content, created.content);
  assert.equal(listed.content, `[${created.content}]`);
  wire.destroy();
});

test("up to 100 requests wait for their turn, and meanwhile nothing more is read; all of them get their responses, in order", async (context) => {
  const store = new GatedStore();
  const { listener, port, key } = await runningService(context, { options: { store } });
  const { wire, socket } = await openBoth(listener, port);
  const creations = (count: number): Buffer => Buffer.concat(Array<Buffer>(count).fill(request({ method: "POST", key, content: rex })));
  wire.send(creations(101));
  await store.added(1);
  const { bytesRead } = socket;
  wire.send(creations(100));
  for (let turn = 0; turn < 50; turn++) {
    await exchange(port, request({ target: "/healthz" }));
  }
  assert.equal(socket.bytesRead, bytesRead);
  for (let id = 1; id <= 201; id++) {
    await store.added(id);
    assert.equal(store.addCount, id);
    store.open();
    const response = await wire.response();
    assert.deepEqual([response.value("location"), response.value("connection")], [`/v1/pets/${id}`, "keep-alive"]);
  }
  wire.destroy();
});

test("a further request in that packet is the last of its connection: its response says so, and what is behind it is dropped", async (context) => {
  const running = await runningService(context, { options: { store: new GatedStore() } });
  const { port } = running;
  const key = await keyWithQuota(running, 1_000);
  for (const behind of [request({ key }), request({ method: "CONNECT", target: "a:1", key }), request({ key, fields: ["Upgrade: h2c"] })]) {
    const wire = await Wire.open(port);
    wire.send(Buffer.concat([...Array<Buffer>(102).fill(request({ key })), behind, ...Array<Buffer>(100).fill(request({ key }))]));
    for (let count = 1; count <= 102; count++) {
      assert.equal((await wire.response()).value("connection"), count === 102 ? "close" : "keep-alive");
    }
    wire.send(request({ key }));
    assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
  }
  assert.equal((await exchange(port, request({ key }))).value("x-ratelimit-remaining"), String(1_000 - 3 * 102 - 1));
});

test("the content of a request that waits for its turn is not read, whatever came before it in its packet", async (context) => {
  const store = new GatedStore();
  const { listener, port, key } = await runningService(context, { options: { store } });
  const post = request({ method: "POST", key, content: rex });
  const upload = request({ method: "POST", key, fields: ["Transfer-Encoding: chunked"] });
  const chunk = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(65_536, " "), Buffer.from("\r\n")]);
  for (const waitingCount of [0, 1, 2]) {
    const { wire, socket } = await openBoth(listener, port);
    const count = store.addCount;
    wire.send(Buffer.concat([post, ...Array<Buffer>(waitingCount).fill(post), upload]));
    await store.added(count + 1);
    for (let sent = 0; sent < 50; sent++) {
      wire.send(chunk);
      await exchange(port, request({ target: "/healthz" }));
    }
    assert.ok(socket.bytesRead < 300_000, `${socket.bytesRead} bytes were read behind ${waitingCount} that wait`);
    wire.destroy();
    store.open();
  }
});

test("responses that are due are sent before a malformed request is refused, however much comes after it", async (context) => {
  const store = new GatedStore();
  const { port, key } = await runningService(context, { options: { store } });
  const post = request({ method: "POST", key, content: rex });
  const wire = await Wire.open(port);
  wire.send(Buffer.concat([post, post, Buffer.from("malformed\r\n\r\n")]));
  await store.added(1);
  for (let sent = 0; sent < 24; sent++) {
    wire.send(Buffer.alloc(65_536, "x"));
    await exchange(port, request({ target: "/healthz" }));
  }
  store.open();
  await store.added(2);
  store.open();
  assert.deepEqual([(await wire.response()).status, (await wire.response()).status, (await wire.response()).status], [201, 201, 400]);
  wire.destroy();
});

test("a request that waits for its turn is not handled once its client has gone, and takes no token", async (context) => {
  const store = new GatedStore();
  const running = await runningService(context, { options: { store } });
  const { listener, port } = running;
  const key = await keyWithQuota(running, 10);
  const { wire, socket } = await openBoth(listener, port);
  const arrived = once(listener.server, "request");
  wire.send(Buffer.concat([request({ method: "POST", key, content: rex }), request({ method: "POST", key, content: rex })]));
  await arrived;
  const closed = once(socket, "close");
  socket.destroy();
  await closed;
  store.open();
  const next = await exchange(port, request({ key }));
  assert.equal(next.value("x-ratelimit-remaining"), "8");
  assert.equal(store.addCount, 1);
  wire.destroy();
});

test("content that turns out malformed while its request waits for its turn: the earlier response, then 400, then close", async (context) => {
  const store = new GatedStore();
  const { port, key } = await runningService(context, { options: { store } });
  for (const [index, content] of ["zz\r\n", `1d\r\n${rex}\r\nzz\r\n`].entries()) {
    const wire = await Wire.open(port);
    const malformed = request({ method: "POST", key, fields: ["Transfer-Encoding: chunked"], content });
    wire.send(Buffer.concat([request({ method: "POST", key, content: rex }), malformed]));
    await store.added(index + 1);
    await exchange(port, request({ target: "/healthz" }));
    store.open();
    const [created, refused] = [await wire.response(), await wire.response()];
    assert.deepEqual([created.status, refused.status, refused.value("connection")], [201, 400, "close"]);
    assert.equal((await wire.closed()).rest, "");
    assert.equal(store.addCount, index + 1);
  }
});

test("content that waits in 10,000 chunks of one byte takes not much more memory than its bytes", async (context) => {
  const store = new GatedStore();
  const { port, key } = await runningService(context, { options: { store } });
  const post = request({ method: "POST", key, content: rex });
  const upload = request({ method: "POST", key, fields: ["Transfer-Encoding: chunked"], content: "1\r\n \r\n".repeat(10_000) });
  const wires: Wire[] = [];
  const beforeBytes = heapBytes();
  for (let count = 1; count <= 20; count++) {
    const wire = await Wire.open(port);
    wires.push(wire.send(post));
    await store.added(count);
    wire.send(upload);
  }
  for (let turn = 0; turn < 20; turn++) {
    await exchange(port, request({ target: "/healthz" }));
  }
  const takenBytes = heapBytes() - beforeBytes;
  wires.forEach((wire) => wire.destroy());
  store.open();
  assert.ok(takenBytes < 8_000_000, `20 packets of 65,536 bytes take ${takenBytes}`);
});
