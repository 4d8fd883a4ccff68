/**
 * `Upgrade` is ignored (RFC 9110, 7.8), but Node may drop what came in one packet after a request that carries it. So the
 * response closes the connection: nothing behind such a request is ever taken for a request.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { GatedStore } from "../support/gated-store.ts";
import { startService } from "../support/running-service.ts";
import { assertPromised } from "../support/wire-response.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

const store = new GatedStore();
const running = await startService({ options: { store } });
after(() => running.close());
const { key, port } = running;

/** As Java's HttpClient sends them, with every request to a server that has not upgraded. */
const upgrade = ["Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA", "Upgrade: h2c"];

test("Upgrade to any protocol is ignored, and the response says Connection: close and closes", async () => {
  const post = { method: "POST", target: "/v1/nothing", content: rex };
  for (const protocol of ["websocket", "h2c", "TLS/1.0, HTTP/1.1", "HTTP/2.0"]) {
    for (const [status, parts] of [[200, {}], [404, post], [401, { ...post, key: "" }]] as const) {
      const wire = await Wire.open(port);
      assert.equal((await wire.send(request({ key })).response()).value("connection"), "keep-alive");
      const response = await wire.send(request({ key, fields: ["Connection: upgrade", `Upgrade: ${protocol}`], ...parts })).response();
      assert.deepEqual([response.status, response.value("connection")], [status, "close"]);
      assertPromised(response);
      assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
    }
  }
});

const followers: Readonly<Record<string, () => Buffer>> = {
  "a creation": () => request({ method: "POST", key, content: rex }),
  "another Upgrade": () => request({ key, fields: upgrade }),
  "CONNECT": () => request({ method: "CONNECT", target: "example.com:443", key }),
  "half a request": () => request({ key }).subarray(0, 40),
  "a control byte in a target": () => Buffer.from("GET /v1/\x01 HTTP/1.1\r\nHost: a\r\n\r\n"),
  "an unknown method": () => Buffer.from("FOO"),
  "two lengths": () => request({ method: "POST", key, fields: ["Content-Length: 5", "Content-Length: 6"] }),
  "a field of 20 kB": () => request({ key, fields: [`X-Long: ${"x".repeat(20_000)}`] }),
  "900 kB of NUL": () => Buffer.alloc(900_000),
};
for (const [name, follower] of Object.entries(followers)) {
  test(`${name} after Upgrade, in its packet or in the next one, is not taken for a request, and delays nothing`, async () => {
    const before = store.addCount;
    const startMs = performance.now();
    for (const bytes of [request({ key, fields: upgrade }), request({ method: "POST", key, fields: upgrade, content: "null" })]) {
      for (const isOnePacket of [true, false]) {
        const wire = await Wire.open(port);
        wire.send(isOnePacket ? Buffer.concat([bytes, follower()]) : bytes);
        const response = await wire.response();
        assert.equal(response.value("connection"), "close");
        wire.send(follower());
        assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
      }
    }
    assert.equal(store.addCount, before);
    assert.ok(performance.now() - startMs < 10_000);
  });
}

test("a creation that comes while the response to one with Upgrade is under way is not handled", async () => {
  const wire = await Wire.open(port);
  const before = store.addCount;
  wire.send(request({ method: "POST", key, fields: upgrade, content: rex }));
  await store.added(before + 1);
  wire.send(request({ method: "POST", key, content: rex }));
  await exchange(port, request({ target: "/healthz" }));
  store.open();
  const response = await wire.response();
  assert.deepEqual([response.status, response.value("connection")], [201, "close"]);
  assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
  assert.equal(store.addCount, before + 1);
});

test("the content of a request with Upgrade arrives, also in packets of its own", async () => {
  for (const bytes of [
    request({ method: "POST", key, fields: upgrade, content: rex }),
    request({ method: "POST", key, fields: [...upgrade, "Transfer-Encoding: chunked"], content: `1d\r\n${rex}\r\n0\r\n\r\n` }),
  ]) {
    const wire = await Wire.open(port);
    const count = store.addCount;
    for (const part of [bytes.subarray(0, 100), bytes.subarray(100, -20), bytes.subarray(-20)]) {
      wire.send(part);
      await exchange(port, request({ target: "/healthz" }));
    }
    await store.added(count + 1);
    store.open();
    const response = await wire.response();
    assert.deepEqual([response.status, response.value("connection")], [201, "close"]);
    assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
  }
});
