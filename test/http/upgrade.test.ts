/**
 * `Upgrade` is ignored (RFC 9110, 7.8), but Node drops what came in one packet after a request that carries it. A
 * response must not shift to another request by that: if bytes may have been dropped, the connection closes.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";

import { GatedStore } from "../support/gated-store.ts";
import { type RunningService, startService } from "../support/running-service.ts";
import { assertPromised } from "../support/wire-response.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

const store = new GatedStore();
let running: RunningService;
let key: string;
let port: number;

before(async () => {
  running = await startService({ options: { store } });
  ({ key, port } = running);
});
after(() => running.close());

/** As Java's HttpClient sends them, with every request to a server that has not upgraded. */
const upgrade = ["Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA", "Upgrade: h2c"];
const get = (): Buffer => request({ key, fields: [...upgrade, "User-Agent: Java-http-client/21"] });
const post = (): Buffer => request({ method: "POST", target: "/v1/nothing", key, fields: upgrade, content: rex });

test("a connection whose requests all carry Upgrade, and nothing after it, is kept", async () => {
  const wire = await Wire.open(port);
  const compact = Buffer.from(String(get()).replaceAll(": ", ":"));
  for (const [bytes, status] of [[get(), 200], [post(), 404], [compact, 200], [post(), 404], [request({ key }), 200]] as const) {
    const response = await wire.send(bytes).response();
    assert.deepEqual([response.status, response.value("connection")], [status, "keep-alive"]);
    assertPromised(response);
  }
  wire.destroy();
});

test("content that comes after the fields, in packets of its own, keeps the connection too", async () => {
  const wire = await Wire.open(port);
  const bytes = request({ method: "POST", key, fields: upgrade, content: "{".padEnd(29) });
  for (const part of [bytes.subarray(0, 100), bytes.subarray(100, -20), bytes.subarray(-20, -1), bytes.subarray(-1)]) {
    wire.send(part);
    await immediate();
  }
  const response = await wire.response();
  assert.deepEqual([response.status, response.value("connection")], [400, "keep-alive"]);
  assert.equal((await wire.send(get()).response()).status, 200);
  wire.destroy();
});

test("bytes behind content that came after the fields close the connection, however much white space these have", async () => {
  for (const [content, padding] of [["null", 0], ["{".padEnd(29), 30]] as const) {
    const fields = [...upgrade, `X-Padding:${" ".repeat(padding)}a`];
    const bytes = request({ method: "POST", key, fields, content });
    const wire = await Wire.open(port);
    const arrived = once(running.listener.server, "request");
    wire.send(bytes.subarray(0, -content.length));
    await arrived;
    wire.send(Buffer.concat([bytes.subarray(-content.length), request({ key })]));
    assert.equal((await wire.response()).value("connection"), "close");
    assert.equal((await wire.closed()).rest, "");
  }
});

test("a response to Upgrade that says Connection: close is the last one, also if the end of its content comes later", async () => {
  for (const wrong of [["Content-Type: text/plain"], ["Host: a", "Host: b"]]) {
    const wire = await Wire.open(port);
    const count = store.addCount;
    wire.send(request({ method: "POST", key, fields: upgrade, content: rex }));
    await store.added(count + 1);
    const refused = request({ method: "POST", key, fields: [...upgrade, ...wrong], content: rex });
    wire.send(refused.subarray(0, -rex.length));
    await once(running.listener.server, "request");
    await immediate();
    await immediate(); // Its content has not come with its fields.
    wire.send(refused.subarray(-rex.length));
    await exchange(port, request({ target: "/healthz" }));
    wire.send(request({ method: "POST", key, content: rex }));
    await exchange(port, request({ target: "/healthz" }));
    store.open();
    assert.equal((await wire.response()).status, 201);
    assert.equal((await wire.response()).value("connection"), "close");
    assert.equal((await wire.closed()).rest, "");
    assert.equal(store.addCount, count + 1);
  }
});

test("Upgrade to any protocol is ignored", async () => {
  for (const protocol of ["websocket", "h2c", "TLS/1.0, HTTP/1.1", "HTTP/2.0"]) {
    const wire = await Wire.open(port);
    wire.send(request({ key, fields: ["Connection: upgrade", `Upgrade: ${protocol}`] }));
    assert.equal((await wire.response()).status, 200);
    assert.equal((await wire.send(request({ key })).response()).status, 200);
    wire.destroy();
  }
});

test("Connection: close beside Upgrade closes", async () => {
  const wire = await Wire.open(port);
  const response = await wire.send(request({ key, fields: ["Connection: Upgrade, close", "Upgrade: h2c"] })).response();
  assert.equal(response.value("connection"), "close");
  assert.equal((await wire.closed()).rest, "");
});

const shortest = Buffer.from("GET / HTTP/1.0\r\n\r\n");
const followers: Readonly<Record<string, () => Buffer>> = {
  "another request": () => request({ key, target: "/healthz" }),
  "a creation": () => request({ method: "POST", key, content: rex }),
  "another Upgrade": get,
  "the shortest request": () => shortest,
  "half a request": () => request({ key }).subarray(0, 40),
  "the first byte of a request": () => Buffer.from("G"),
  "the first 13 bytes of a request": () => Buffer.from("GET /v1/pets "),
  "garbage": () => Buffer.from("garbage that is longer than a request\r\n\r\n"),
  "a megabyte of garbage": () => Buffer.alloc(1_000_000, "x"),
};
for (const [name, follower] of Object.entries(followers)) {
  test(`${name} in one packet after Upgrade: the response says Connection: close, and is the last one`, async () => {
    const compact = Buffer.from(`GET /healthz HTTP/1.1\r\nHost:a\r\nConnection:Upgrade\r\nUpgrade:h2c\r\n\r\n`);
    const before = store.addCount;
    for (const first of [get(), post(), compact]) {
      const wire = await Wire.open(port);
      wire.send(Buffer.concat([first, follower()]));
      const response = await wire.response();
      assert.equal(response.value("connection"), "close");
      wire.send(request({ method: "POST", key, content: rex }));
      assert.equal((await wire.closed()).rest, "");
    }
    assert.equal(store.addCount, before);
  });
}

test("a request that is as long as the spaces after the colons, which the one before it lacks, closes", async () => {
  const fields = Array.from({ length: shortest.length - 3 }, (_, index) => `X-${index}:a`).join("\r\n");
  const first = Buffer.from(`GET /healthz HTTP/1.1\r\nHost:a\r\nConnection:Upgrade\r\nUpgrade:h2c\r\n${fields}\r\n\r\n`);
  const wire = await Wire.open(port);
  assert.equal((await wire.send(Buffer.concat([first, shortest])).response()).value("connection"), "close");
  assert.equal((await wire.closed()).rest, "");
});

test("Upgrade after other requests closes: where it began on the connection is not known", async () => {
  const wire = await Wire.open(port);
  assert.equal((await wire.send(request({ key })).response()).value("connection"), "keep-alive");
  assert.equal((await wire.send(get()).response()).value("connection"), "close");
  assert.equal((await wire.closed()).rest, "");
});

test("chunked content with Upgrade closes: how many bytes it takes is not known", async () => {
  const wire = await Wire.open(port);
  const chunked = request({ method: "POST", key, fields: [...upgrade, "Transfer-Encoding: chunked"], content: "1\r\n{\r\n0\r\n\r\n" });
  assert.equal((await wire.send(chunked).response()).value("connection"), "close");
  assert.equal((await wire.closed()).rest, "");
});

test("a request that comes while one with Upgrade is under way gets its response after it, or is not read", async () => {
  for (const isDropped of [false, true]) {
    const wire = await Wire.open(port);
    const creation = request({ method: "POST", key, fields: upgrade, content: rex });
    const count = store.addCount;
    wire.send(isDropped ? Buffer.concat([creation, get()]) : creation);
    await store.added(count + 1);
    const arrived = once(running.listener.server, "request");
    wire.send(request({ method: "POST", key, content: rex }));
    await (isDropped ? immediate() : arrived);
    store.open();
    const response = await wire.response();
    assert.deepEqual([response.status, response.value("connection")], [201, isDropped ? "close" : "keep-alive"]);
    if (isDropped) {
      assert.equal((await wire.closed()).rest, "");
      assert.equal(store.addCount, count + 1);
    } else {
      await store.added(count + 2);
      store.open();
      assert.equal((await wire.response()).status, 201);
      wire.destroy();
    }
  }
});
