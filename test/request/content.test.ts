/**
 * Content: which types are accepted, how much of it, and what happens to content that is not read.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { after, test } from "node:test";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import { mockTimers } from "../support/mock-timers.ts";
import { animalCount, runningService, startService } from "../support/running-service.ts";
import { assertPromised, codeOf } from "../support/wire-response.ts";
import { exchange, petOfBytes, request, rex, Wire } from "../support/wire.ts";

const running = await startService();
after(() => running.close());
const { key } = running;

const types: readonly (readonly [type: string | undefined, status: number])[] = [
  [undefined, 201],
  ["application/json", 201],
  ["APPLICATION/JSON", 201],
  ["application/json;", 201],
  ["application/json; charset=utf-8", 201],
  ["application/json ; charset=\"UTF-8\"", 201],
  ["application/json;version=1;charset=utf-8", 201],
  ["application/json; charset=\"ut\\f-\\8\"", 201],
  ["application/json; charset=utf8", 201],
  ["application/json; charset=\"UTF8\"", 201],
  ["application/json; charset=latin1", 415],
  ["application/json; charset=utf--8", 415],
  ["application/json; charset=utf-16", 415],
  ["application/json; charset=utf-8; charset=utf-16", 415],
  ["application/json; charset", 415],
  ["application/json, application/json", 415],
  ["application/jsonp", 415],
  ["application/vnd.api+json", 415],
  ["text/plain", 415],
  ["", 415],
];
for (const [type, status] of types) {
  test(`Content-Type: ${type} is ${status}`, async () => {
    const fields = type === undefined ? [] : [`Content-Type: ${type}`];
    const response = await exchange(running.port, request({ method: "POST", key, content: rex, fields }));
    assert.equal(response.status, status);
    assertPromised(response);
  });
}

test("two Content-Type fields are 415, in whatever order and case, and nothing is stored", async () => {
  const before = await animalCount(running);
  const [json, text] = ["Content-Type: application/json", "CONTENT-type: text/plain"];
  for (const fields of [[json, text], [text, json], [json, json]]) {
    const response = await exchange(running.port, request({ method: "POST", key, content: rex, fields }));
    assert.equal(codeOf(response), "unsupported_media_type", fields.join());
    assertPromised(response);
  }
  assert.equal(await animalCount(running), before);
});

test("the message of a 415 names the type or the coding that arrived, in bounds and without keys, and where fetch's comes from", async () => {
  const long = "x".repeat(5_000);
  const table = [
    [{ "Content-Type": "text/html" }, /"text\/html"/],
    [{ "Content-Encoding": "gzip, br" }, /"gzip, br"/],
    [{ "Content-Type": `a/${long}` }, /"a\/x{62}"\.\.\./],
    [{ "Content-Encoding": long }, /"x{64}"\.\.\./],
    [{ "Content-Type": `"${key}" \xad\t` }, /"\\"as_…\\" \\u00ad"/],
    [{}, /"text\/plain;charset=UTF-8".*fetch/],
  ] as const;
  for (const [headers, expected] of table) {
    const response: Response = await fetch(`http://127.0.0.1:${running.port}/v1/pets`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, ...headers },
      body: "Content-Encoding" in headers ? Buffer.from(rex) : rex,
    });
    assert.equal(response.status, 415);
    const { message } = (await response.json()) as { message: string };
    assert.match(message, expected);
    assert.ok(message.length < 250, message);
  }
});

test("a content coding is 415, and identity is not a coding", async () => {
  for (const [coding, status] of [["gzip", 415], ["identity, gzip", 415], ["Identity", 201], ["", 201], ["identity ,", 201]] as const) {
    const fields = [`Content-Encoding: ${coding}`];
    const response = await exchange(running.port, request({ method: "POST", key, content: rex, fields }));
    assert.equal(response.status, status, coding);
  }
});

test("a byte order mark is allowed, and content that is not UTF-8 is malformed_json", async () => {
  const bom = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(rex)]);
  assert.equal((await exchange(running.port, request({ method: "POST", key, content: bom }), "POST")).status, 201);
  const latin = Buffer.from(rex.replace("Rex", "R\xe9x"), "latin1");
  assert.equal(codeOf(await exchange(running.port, request({ method: "POST", key, content: latin }))), "malformed_json");
});

test("no content is malformed_json, in every framing", async () => {
  for (const fields of [[], ["Content-Length: 0"], ["Transfer-Encoding: chunked"]]) {
    const ending = fields[0]?.startsWith("T") ? "0\r\n\r\n" : "";
    const response = await exchange(running.port, request({ method: "POST", key, fields, content: ending }));
    assert.equal(codeOf(response), "malformed_json", fields[0]);
    assertPromised(response);
  }
});

function chunked(content: string, chunkBytes: number): string {
  let text = "";
  for (let start = 0; start < content.length; start += chunkBytes) {
    const chunk = content.slice(start, start + chunkBytes);
    text += `${chunk.length.toString(16)};extension=1\r\n${chunk}\r\n`;
  }
  return `${text}0\r\nX-Trailer: 1\r\n\r\n`;
}

for (const [byteCount, status] of [[16_383, 201], [16_384, 201], [16_385, 413]] as const) {
  test(`content of ${byteCount} bytes is ${status}, declared and chunked`, async () => {
    const pet = petOfBytes(byteCount);
    const fields = ["Transfer-Encoding: chunked"];
    for (const parts of [{ content: pet }, { content: chunked(pet, 1_000), fields }, { content: chunked(pet, 1e6), fields }]) {
      const response = await exchange(running.port, request({ method: "POST", key, ...parts }));
      assert.equal(response.status, status);
      assertPromised(response);
    }
  });
}

test("a request in packets of one byte is the same request", async () => {
  const wire = await Wire.open(running.port);
  for (const byte of request({ method: "POST", key, content: rex })) {
    wire.send(Uint8Array.of(byte));
    await new Promise(setImmediate);
  }
  assert.equal((await wire.response()).status, 201);
  wire.destroy();
});

test("Expect: 100-continue gets 100 only if the content will be read", async () => {
  const expect = ["Expect: 100-continue", `Content-Length: ${rex.length}`];
  const wire = await Wire.open(running.port);
  assert.equal((await wire.send(request({ method: "POST", key, fields: expect })).response()).status, 100);
  assert.equal((await wire.send(rex).response()).status, 201);
  wire.destroy();
  const unwanted = [
    [401, { fields: expect }],
    [404, { key, target: "/v1/nothing", fields: expect }],
    [405, { key, target: "/v1/pets/1", fields: expect }],
    [415, { key, fields: ["Expect: 100-continue", "Content-Length: 20000", "Content-Type: text/plain"] }],
    [413, { key, fields: ["Expect: 100-continue", "Content-Length: 16385"] }],
    [400, { key, fields: [...expect, "Host: a", "Host: b"] }],
  ] as const;
  for (const [status, parts] of unwanted) {
    const response = await exchange(running.port, request({ method: "POST", ...parts }));
    assert.equal(response.status, status);
    assert.equal(response.value("connection"), "close");
    assertPromised(response);
  }
});

test("content that came with the fields keeps the connection after an early refusal, with Expect too", async () => {
  const fields = ["Expect: 100-continue"];
  const refused: readonly (readonly [status: number, bytes: Buffer])[] = [
    [415, request({ method: "POST", key, fields: [...fields, "Content-Type: text/plain"], content: rex })],
    [401, request({ method: "POST", content: rex })],
    [401, request({ method: "POST", fields, content: rex })],
    [200, request({ key, fields, content: rex })],
    [200, request({ key, fields })],
  ];
  for (const [status, bytes] of refused) {
    const wire = await Wire.open(running.port);
    const response = await wire.send(bytes).response();
    assert.deepEqual([response.status, response.value("connection")], [status, "keep-alive"]);
    assert.equal((await wire.send(request({ method: "POST", key, content: rex })).response()).status, 201);
    wire.destroy();
  }
});

test("other expectations, and 100-continue in HTTP/1.0, are ignored", async () => {
  for (const [version, expectation] of [["1.1", "200-ok"], ["1.1", "100-continued"], ["1.0", "100-continue"]] as const) {
    const fields = [`Expect: ${expectation}`];
    const response = await exchange(running.port, request({ method: "POST", version, key, content: rex, fields }));
    assert.equal(response.status, 201, expectation);
  }
});

test("an early response is readable during an upload of 5 MB, which is dropped up to a bound", async () => {
  const connection = once(running.listener.server, "connection");
  const wire = await Wire.open(running.port);
  const [socket] = (await connection) as [Socket];
  const closed = once(socket, "close");
  wire.send(request({ method: "POST", fields: ["Content-Length: 5000000"] }));
  wire.send(Buffer.alloc(5_000_000, "x"));
  const response = await wire.response();
  assert.equal(codeOf(response), "missing_api_key");
  assert.equal(response.value("connection"), "close");
  assertPromised(response);
  await closed;
  wire.destroy();
  const { bytesRead } = socket;
  // Node reads up to 2 MiB in one turn of its loop, before anybody is asked.
  assert.ok(bytesRead > 1_048_576 && bytesRead < 4_000_000, String(bytesRead));
});

test("what comes after an early response is dropped for 2 s, then the connection closes", { timeout: 20_000 }, async (context) => {
  const { listener, port } = await runningService(context);
  const connection = once(listener.server, "connection");
  const wire = await Wire.open(port);
  const [socket] = (await connection) as [Socket];
  const timers = mockTimers(context, "setTimeout");
  wire.send(request({ method: "POST", fields: ["Content-Length: 5000"] }));
  while (!wire.pending.includes("missing_api_key")) {
    await eventLoopTurn();
  }
  timers.tick(1_999);
  const read = once(socket, "data");
  wire.send("x");
  await read;
  assert.equal(socket.destroyed, false);
  const closed = once(socket, "close");
  timers.tick(1);
  await closed;
  wire.destroy();
});

test("an upload that grows beyond the bound is 413 at once, readable, and nothing is stored", async () => {
  const before = await animalCount(running);
  const wire = await Wire.open(running.port);
  wire.send(request({ method: "POST", key, fields: ["Transfer-Encoding: chunked"] }));
  wire.send(`10000\r\n${" ".repeat(65_536)}\r\n`);
  const response = await wire.response();
  assert.equal(codeOf(response), "body_too_large");
  assertPromised(response);
  wire.send("0\r\n\r\n");
  assert.equal((await wire.closed()).ending, "end");
  assert.equal(await animalCount(running), before);
});

test("an upload that the client breaks off stores nothing, and the service goes on", async () => {
  const before = await animalCount(running);
  const closed = new Promise<void>((resolve) => {
    running.listener.server.once("connection", (socket) => socket.once("close", resolve));
  });
  const wire = await Wire.open(running.port);
  wire.send(request({ method: "POST", key, fields: ["Content-Length: 100"], content: rex }));
  await exchange(running.port, request({ target: "/healthz" })); // What was sent before has been read.
  wire.socket.resetAndDestroy();
  await closed;
  assert.equal((await exchange(running.port, request({ key }))).status, 200);
  assert.equal(await animalCount(running), before);
});

test("content on a method that takes none is dropped, and the next request is read", async () => {
  const wire = await Wire.open(running.port);
  const { id } = JSON.parse((await exchange(running.port, request({ method: "POST", key, content: rex }))).content) as { id: number };
  for (const target of ["/v1/pets", `/v1/pets/${id}`, "/v1/limits"]) {
    const asked = request({ key, target, content: "not JSON", fields: ["Content-Type: text/plain"] });
    assert.equal((await wire.send(asked).response()).status, 200, target);
    assert.equal((await wire.send(request({ key, target: "/v1/pets/99999" })).response()).status, 404);
  }
  wire.destroy();
});
