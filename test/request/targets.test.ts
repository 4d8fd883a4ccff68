/**
 * Paths are compared exactly as sent, so each resource has one name (RFC 9112, 3.2).
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { serve } from "../support/embedding-server.ts";
import { runningService, startService } from "../support/running-service.ts";
import { assertPromised, codeOf } from "../support/wire-response.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

const running = await startService();
after(() => running.close());
const { key } = running;
await exchange(running.port, request({ method: "POST", key, content: rex }));

const found = ["/v1/pets", "/v1/pets?limit=1", "http://localhost/v1/pets", "HTTPS://other.example:1/v1/pets?limit=1"];
for (const target of [...found, "/v1/pets/1", "http://localhost/v1/pets/1?anything"]) {
  test(`${target} is found`, async () => {
    const response = await exchange(running.port, request({ target, key }));
    assert.equal(response.status, 200);
    assertPromised(response);
  });
}

const nowhere = [
  "/", "/v1", "/v1/", "/v1/pets/", "/v1//pets", "//localhost/v1/pets", "/v1/./pets", "/v1/x/../pets", "/../v1/pets",
  "/v1/%70ets", "/v1%2Fpets", "/v1/pets%2F1", "/V1/pets", "/v1/Pets", "/v2/pets", "/v1/pets/1/", "/v1/pets//1",
  "/v1/pets/1/2", "/v1/pets;a=b", "/v1/pets#1", "/pets", "/store/orders", "/v1/store/orders", "http://localhost",
  "http://localhost?/v1/pets", "http:///v1/pets", "http://user@localhost/v1/pets", "http://@localhost/v1/pets",
  "/healthz/", "/openapi.json/", "/__proto__", "/v1/constructor",
];
for (const target of nowhere) {
  test(`${target} is 404 route_not_found`, async () => {
    const response = await exchange(running.port, request({ target, key }));
    assert.equal(codeOf(response), "route_not_found");
    assertPromised(response);
    assert.equal(response.value("deprecation"), undefined);
  });
}

for (const target of ["/v1/pets/0", "/v1/pets/2", "/v1/pets/01", "/v1/pets/+1", "/v1/pets/%31", "/v1/pets/rex"]) {
  test(`${target} is 404 pet_not_found`, async () => {
    const response = await exchange(running.port, request({ target, key }));
    assert.equal(codeOf(response), "pet_not_found");
    assertPromised(response);
  });
}

test("operations other than listPets ignore the query", async (context) => {
  const { port, key } = await runningService(context);
  const table = [
    [201, { method: "POST", content: rex }, "/pets"],
    [200, {}, "/pets/1"],
    [404, {}, "/pets/2"],
    [200, {}, "/limits"],
    [400, {}, "/pets"],
  ] as const;
  for (const [status, parts, path] of table) {
    const response = await exchange(port, request({ key, target: `/v1${path}?limit=0&x`, ...parts }));
    assert.equal(response.status, status, path);
    assertPromised(response);
  }
});

function targetOfBytes(byteCount: number): string {
  return `/v1/pets/${"1".repeat(byteCount - "/v1/pets/".length)}`;
}

test("a target above 8,192 bytes is 414 after authentication, on every method, in absolute form and on public pages", async () => {
  const long = { key, target: `http://a${targetOfBytes(8_185)}` };
  const table = [
    [404, { key, target: targetOfBytes(8_192) }],
    [414, { key, target: targetOfBytes(8_193) }],
    [401, { target: targetOfBytes(8_193) }],
    [414, { ...long, method: "POST" }],
    [414, { ...long, method: "DELETE" }],
    [414, { ...long, method: "OPTIONS" }],
    [200, { target: "/healthz?".padEnd(8_192, "a") }],
    [414, { target: "/healthz?".padEnd(8_193, "a") }],
  ] as const;
  for (const [status, parts] of table) {
    const response = await exchange(running.port, request(parts));
    assert.equal(response.status, status, parts.target.slice(0, 20));
    assertPromised(response, { isPublic: parts.target.startsWith("/healthz") });
  }
});

test("target and fields beyond Node's 16 KiB together are 431, with the address's window, then the connection closes", async () => {
  const ask = (byteCount: number) =>
    exchange(running.port, request({ key, fields: [`X-Long: ${"x".repeat(byteCount)}`] }));
  // Node counts the target and the names and values of the fields.
  const others = ["/v1/pets", "Host", "localhost", "Authorization", `Bearer ${key}`, "X-Long"].join("").length;
  assert.equal((await ask(16_384 - others)).status, 200);
  const response = await ask(16_385 - others);
  assert.equal(codeOf(response), "header_fields_too_large");
  assertPromised(response);
  assert.equal(response.value("x-ratelimit-limit"), "60");
  assert.equal(response.value("connection"), "close");
  const longTarget = await exchange(running.port, request({ key, target: targetOfBytes(17_000) }));
  assert.equal(longTarget.status, 431);
});

test("with a base address the program serves /v1 too, for a proxy that cuts off what is before it; links are right", async (context) => {
  const baseUrl = "https://shop.example/store/v1";
  const { port, key, service } = await runningService(context, { options: { baseUrl } });
  for (const base of ["/v1", "/store/v1"]) {
    const created = await exchange(port, request({ method: "POST", target: `${base}/pets`, key, content: rex }));
    assert.match(created.value("location") ?? "", /^https:\/\/shop\.example\/store\/v1\/pets\/\d$/);
    const page = await exchange(port, request({ target: `${base}/pets?limit=1`, key }));
    assert.equal(page.value("link") === undefined, base === "/v1");
  }
  const ownPort = await serve(context, (incoming, outgoing) => service.handle(incoming, outgoing));
  const wire = await Wire.open(ownPort, { isSecure: false });
  assert.equal((await wire.send(request({ target: "/store/v1/pets", key })).response()).status, 200);
  const elsewhere = await wire.send(request({ target: "/v1/pets", key })).response();
  assert.equal(codeOf(elsewhere), "route_not_found", "a program has its own /v1");
  wire.destroy();
});

test("the message of route_not_found names the path, never a key in it, and where the API is if the path is not below that", async (context) => {
  for (const baseUrl of [undefined, "https://shop.example/store/v1"]) {
    const { port, key } = await runningService(context, { options: { baseUrl } });
    const advice = ` The addresses of the API begin with ${baseUrl ?? "/v1"}/.`;
    const rows = [
      ["/v1/pets/", 'There is nothing at "/v1/pets/".'],
      ["/v1/pet?limit=1", 'There is nothing at "/v1/pet".'],
      ["/pets", `There is nothing at "/pets".${advice}`],
      ["/v1x/pets", `There is nothing at "/v1x/pets".${advice}`],
      [`/v1/${key}`, 'There is nothing at "/v1/as_…".'],
      [`/v1/${"x".repeat(100)}`, `There is nothing at "/v1/${"x".repeat(60)}"....`],
    ] as const;
    for (const [target, message] of rows) {
      const { content } = await exchange(port, request({ target, key }));
      assert.equal((JSON.parse(content) as { message: string }).message, message);
    }
  }
});
