/**
 * The rate fields of responses to bytes that are no request, the memory that such bytes leave, and CONNECT. Which bytes
 * are no request is in smuggling.test.ts; requests before such bytes are in pipelining.test.ts.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { after, test } from "node:test";

import { animalCount, keyWithQuota, startService } from "../support/running-service.ts";
import { assertPromised, codeOf } from "../support/wire-response.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

const running = await startService();
after(() => running.close());
const { key } = running;

const authorization = (): string => `Authorization: Bearer ${key}\r\n`;

test("HTTP/1.0 needs no Host", async () => {
  const response = await exchange(running.port, `GET /v1/pets HTTP/1.0\r\n${authorization()}\r\n`);
  assert.equal(response.status, 200);
  assertPromised(response);
});

test("a malformed request shows the key's window if its fields were read, takes no token, and is no 429", async () => {
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

test("a malformed request shows the address's window if its fields were not read, and takes no token", async () => {
  for (let count = 0; count < 3; count++) {
    const response = await exchange(running.port, "BREW / HTTP/1.1\r\n\r\n");
    assert.equal(response.value("x-ratelimit-limit"), "60");
    assert.equal(response.value("x-ratelimit-remaining"), "60");
  }
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

test("CONNECT is closed without a response, and takes no token", async () => {
  const small = await keyWithQuota(running, 2);
  const connect = request({ method: "CONNECT", target: "example.com:443", key: small });
  for (const before of [Buffer.of(), request({ key: small })]) {
    const wire = await Wire.open(running.port);
    wire.send(Buffer.concat([before, connect, Buffer.from("bytes of the tunnel")]));
    if (before.length > 0) {
      assert.equal((await wire.response()).value("x-ratelimit-remaining"), "1");
    }
    assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
  }
});

test("CONNECT behind a POST that is being stored does not cut off its 201", async () => {
  const wire = await Wire.open(running.port);
  wire.send(Buffer.concat([
    request({ method: "POST", key, content: rex, fields: ["X-Empty:"] }), // By which node:http gets the connection.
    request({ method: "CONNECT", target: "example.com:443", key }),
    Buffer.from("bytes of the tunnel"),
  ]));
  const response = await wire.response();
  assert.equal(response.status, 201);
  assertPromised(response);
  assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
});

test("CONNECT whose client resets the connection harms nobody", async () => {
  const connection = once(running.listener.server, "connection");
  const wire = await Wire.open(running.port);
  const [socket] = (await connection) as [Socket];
  const closed = new Promise((resolve) => socket.once("close", resolve));
  wire.send(request({ method: "CONNECT", target: "example.com:443", key }));
  wire.socket.resetAndDestroy();
  await closed;
  assert.equal((await exchange(running.port, request({ key }))).status, 200);
});
