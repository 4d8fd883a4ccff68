/**
 * Bytes that are no request get a response too: an Error body, the rate fields, then the connection closes. It never
 * overtakes the response to an earlier request (RFC 9112, 2.2, 2.3, 3.2, 6.3).
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { after, before, test } from "node:test";

import { bounds } from "../../src/base/bounds.ts";
import { GatedStore } from "../support/gated-store.ts";
import { animalCount, keyWithQuota, type RunningService, runningService, startService } from "../support/running-service.ts";
import { assertPromised, codeOf } from "../support/wire-response.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

let running: RunningService;
let key: string;

before(async () => {
  running = await startService();
  key = running.key;
});
after(() => running.close());

const authorization = (): string => `Authorization: Bearer ${key}\r\n`;

const damaged: Readonly<Record<string, () => string>> = {
  "no Host in 1.1": () => `GET /v1/pets HTTP/1.1\r\n${authorization()}\r\n`,
  "two Hosts": () => `GET /v1/pets HTTP/1.1\r\nHost: a\r\nHost: a\r\n${authorization()}\r\n`,
  "two Hosts in 1.0": () => `GET /v1/pets HTTP/1.0\r\nHost: a\r\nhOST: b\r\n${authorization()}\r\n`,
  "two Hosts on a public page": () => "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
  "HTTP/0.9": () => `GET /v1/pets HTTP/0.9\r\nHost: a\r\n${authorization()}\r\n`,
  "HTTP/1.2": () => `GET /v1/pets HTTP/1.2\r\nHost: a\r\n${authorization()}\r\n`,
  "HTTP/2.0": () => `GET /v1/pets HTTP/2.0\r\nHost: a\r\n${authorization()}\r\n`,
  "HTTP/3": () => `GET /v1/pets HTTP/3\r\nHost: a\r\n${authorization()}\r\n`,
  "the preface of HTTP/2": () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "no version": () => "GET /v1/pets\r\n\r\n",
  "an unknown method": () => `BREW /v1/pets HTTP/1.1\r\nHost: a\r\n${authorization()}\r\n`,
  "a method in lower case": () => `get /v1/pets HTTP/1.1\r\nHost: a\r\n${authorization()}\r\n`,
  "garbage": () => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  "both lengths": () =>
    `POST /v1/pets HTTP/1.1\r\nHost: a\r\n${authorization()}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  "two lengths": () =>
    `POST /v1/pets HTTP/1.1\r\nHost: a\r\n${authorization()}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`,
  "a length with a sign": () => `POST /v1/pets HTTP/1.1\r\nHost: a\r\n${authorization()}Content-Length: +5\r\n\r\nabcde`,
  "a space before the colon": () => `GET /v1/pets HTTP/1.1\r\nHost : a\r\n${authorization()}\r\n`,
  "a folded field": () => `GET /v1/pets HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n${authorization()}\r\n`.replace("X-A: b", "X A"),
  "a NUL in a field": () => `GET /v1/pets HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n${authorization()}\r\n`,
  "a coding that is not chunked": () =>
    `POST /v1/pets HTTP/1.1\r\nHost: a\r\n${authorization()}Transfer-Encoding: gzip\r\n\r\nabc`,
};

for (const [name, bytes] of Object.entries(damaged)) {
  test(`${name} is 400 malformed_request, then the connection closes`, async () => {
    const wire = await Wire.open(running.port);
    const response = await wire.send(bytes()).response("GET");
    assert.equal(response.status, 400);
    assert.equal(codeOf(response), "malformed_request");
    assertPromised(response);
    assert.equal(response.value("connection"), "close");
    assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
  });
}

test("HTTP/1.0 needs no Host", async () => {
  const response = await exchange(running.port, `GET /v1/pets HTTP/1.0\r\n${authorization()}\r\n`);
  assert.equal(response.status, 200);
  assertPromised(response);
});

test("a malformed request shows the key's bucket if its fields were read, takes no token, and is no 429", async () => {
  const small = await keyWithQuota(running, 2);
  const ask = (fields: readonly string[]) => exchange(running.port, request({ key: small, fields }));
  assert.equal((await ask([])).value("x-ratelimit-remaining"), "1");
  const malformed = await ask(["Host: a", "Host: b"]);
  assert.equal(malformed.value("x-ratelimit-limit"), "2");
  assert.equal(malformed.value("x-ratelimit-remaining"), "1");
  assert.equal((await ask([])).value("x-ratelimit-remaining"), "0");
  const empty = await ask(["Host: a", "Host: b"]);
  assert.equal(empty.status, 400);
  assert.equal(empty.value("x-ratelimit-remaining"), "0");
});

test("a malformed request shows the address's bucket if its fields were not read, and takes no token", async () => {
  for (let count = 0; count < 3; count++) {
    const response = await exchange(running.port, "BREW / HTTP/1.1\r\n\r\n");
    assert.equal(response.value("x-ratelimit-limit"), "60");
    assert.equal(response.value("x-ratelimit-remaining"), "60");
  }
});

test("a client that goes on sending after a malformed request is cut off at the bound", { timeout: 10_000 }, async (context) => {
  const { drainBytesMax } = bounds;
  const { listener, port } = await runningService(context);
  const connected = once(listener.server, "connection");
  const wire = await Wire.open(port);
  const [socket] = (await connected) as [Socket];
  const closed = new Promise((resolve) => socket.once("close", resolve));
  wire.send("garbage\r\n\r\n");
  assert.equal((await wire.response()).status, 400);
  const sending = setInterval(() => wire.send(Buffer.alloc(50_000, "x")), 5);
  context.after(() => clearInterval(sending));
  await closed;
  assert.ok(socket.bytesRead > drainBytesMax && socket.bytesRead < 2 * drainBytesMax, `${socket.bytesRead} bytes`);
});

test("a request after a malformed one is not handled", async (context) => {
  const store = new GatedStore();
  const gated = await runningService(context, { options: { store } });
  const wire = await Wire.open(gated.port);
  wire.send(Buffer.concat([
    Buffer.from("GET /v1/pets HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
    request({ method: "POST", key: gated.key, content: rex }),
  ]));
  assert.equal((await wire.response()).status, 400);
  assert.equal((await wire.closed()).rest, "");
  assert.equal(store.addCount, 0);
});

test("a bad chunk is 400 malformed_request with the key's fields, and nothing is stored", async () => {
  const before = await animalCount(running);
  const wire = await Wire.open(running.port);
  wire.send(request({ method: "POST", key, fields: ["Transfer-Encoding: chunked"] }));
  wire.send(`1d\r\n${rex}\r\n`).send("zz\r\n");
  const response = await wire.response();
  assert.equal(response.status, 400);
  assert.equal(codeOf(response), "malformed_request");
  assertPromised(response);
  assert.equal(response.value("x-ratelimit-limit"), "10000000");
  assert.equal(response.value("connection"), "close");
  assert.equal((await wire.closed()).rest, "");
  assert.equal(await animalCount(running), before);
});

test("content that ends before its length is 400, and nothing is stored", async () => {
  const before = await animalCount(running);
  const wire = await Wire.open(running.port);
  wire.send(request({ method: "POST", key, fields: ["Content-Length: 30"], content: rex })).halfClose();
  const response = await wire.response();
  assert.equal(codeOf(response), "malformed_request");
  assertPromised(response);
  assert.equal((await wire.closed()).rest, "");
  assert.equal(await animalCount(running), before);
});

test("garbage after a POST that is being stored: its 201 first and whole, then 400, then close", async (context) => {
  const store = new GatedStore();
  const gated = await runningService(context, { options: { store } });
  const damage = once(gated.listener.server, "clientError");
  const wire = await Wire.open(gated.port);
  wire.send(Buffer.concat([request({ method: "POST", key: gated.key, content: rex }), Buffer.from("garbage\r\n\r\n")]));
  await damage;
  wire.send(Buffer.alloc(8_192, "x"));
  assert.equal((await exchange(gated.port, request({ key: gated.key }))).status, 200);
  store.open();
  const created = await wire.response();
  assert.equal(created.status, 201);
  assertPromised(created);
  const refused = await wire.response();
  assert.equal(codeOf(refused), "malformed_request");
  assertPromised(refused);
  assert.equal(refused.value("connection"), "close");
  assert.equal((await wire.closed()).rest, "");
});

test("garbage after pipelined requests: their responses in order, then 400, then close", async () => {
  const wire = await Wire.open(running.port);
  const requests = [
    request({ key }),
    request({ method: "POST", key, content: rex }),
    request({ key, target: "/v1/nothing" }),
    request({ method: "POST", key, content: rex }),
  ];
  wire.send(Buffer.concat([...requests, Buffer.from("\0\0\0\0\r\n\r\n")]));
  for (const status of [200, 201, 404, 201, 400]) {
    const response = await wire.response();
    assert.equal(response.status, status);
    assertPromised(response);
  }
  assert.equal((await wire.closed()).rest, "");
});

test("garbage after content that is not read: the response alone, then close", async () => {
  const wire = await Wire.open(running.port);
  wire.send(request({ method: "POST", fields: ["Transfer-Encoding: chunked"] }));
  assert.equal((await wire.response()).status, 401);
  wire.send("zz\r\n");
  assert.equal((await wire.closed()).rest, "");
});

test("CONNECT is handled like other methods and closes: 401 without a key, 404 with one", async () => {
  for (const [secret, status] of [["", 401], ["as_wrong", 401], [key, 404]] as const) {
    const wire = await Wire.open(running.port);
    const response = await wire.send(request({ method: "CONNECT", target: "example.com:443", key: secret })).response();
    assert.equal(response.status, status);
    assertPromised(response);
    assert.equal(response.value("connection"), "close");
    assert.equal((await wire.closed()).rest, "");
  }
});

test("CONNECT with two Host fields is 400", async () => {
  const fields = ["Host: a", "Host: b"];
  const response = await exchange(running.port, request({ method: "CONNECT", target: "example.com:443", key, fields }));
  assert.equal(codeOf(response), "malformed_request");
  assertPromised(response);
});

test("CONNECT over the limit is 429", async () => {
  const small = await keyWithQuota(running, 1);
  assert.equal((await exchange(running.port, request({ key: small }))).status, 200);
  const response = await exchange(running.port, request({ method: "CONNECT", target: "example.com:443", key: small }));
  assert.equal(codeOf(response), "rate_limited");
  assertPromised(response);
});

test("CONNECT after a POST that is being stored waits for its 201", async () => {
  const wire = await Wire.open(running.port);
  wire.send(Buffer.concat([
    request({ method: "POST", key, content: rex }),
    request({ key }),
    request({ method: "CONNECT", target: "example.com:443", key }),
    Buffer.from("bytes of the tunnel"),
  ]));
  for (const status of [201, 200, 404]) {
    const response = await wire.response();
    assert.equal(response.status, status);
    assertPromised(response);
  }
  assert.equal((await wire.closed()).rest, "");
});

test("CONNECT whose client resets the connection after the response harms nobody", async () => {
  const connection = once(running.listener.server, "connection");
  const wire = await Wire.open(running.port);
  const [socket] = (await connection) as [Socket];
  assert.equal((await wire.send(request({ method: "CONNECT", target: "example.com:443", key })).response()).status, 404);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  wire.socket.resetAndDestroy();
  await closed;
  assert.equal((await exchange(running.port, request({ key }))).status, 200);
});

test("OPTIONS * is handled like other requests: 401 without a key, 404 with one", async () => {
  for (const [secret, status] of [["", 401], [key, 404]] as const) {
    const response = await exchange(running.port, request({ method: "OPTIONS", target: "*", key: secret }));
    assert.equal(response.status, status);
    assertPromised(response);
  }
});
