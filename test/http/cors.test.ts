/**
 * Calls from browsers (Fetch standard, "CORS protocol").
 */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { runningService } from "../support/running-service.ts";
import { assertPromised } from "../support/wire-response.ts";
import { exchange, request, rex } from "../support/wire.ts";

const shop = "https://shop.example";
const preflight = ["Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization"];

test("CORS is off by default: no origin gets permission, and a request without Origin has no CORS fields", async (context) => {
  const { port, key } = await runningService(context);
  const response = await exchange(port, request({ key, fields: [`Origin: ${shop}`] }));
  assert.equal(response.value("access-control-allow-origin"), undefined);
  const plain = await exchange(port, request({ key }));
  assert.doesNotMatch(plain.text, /access-control|vary/i);
});

test("a preflight from an origin that is not allowed is 204 without CORS fields, and charged to nobody", async (context) => {
  for (const corsOrigins of [[], [shop]]) {
    const { port } = await runningService(context, { options: { corsOrigins } });
    for (const target of ["/v1/pets", "/v1/nothing", "/healthz"]) {
      for (const origin of ["https://evil.example", `${shop}.evil.example`, "null", shop.toUpperCase(), `${shop}, ${shop}`]) {
        const response = await exchange(port, request({ method: "OPTIONS", target, fields: [`Origin: ${origin}`, ...preflight] }));
        assert.equal(response.status, 204, origin);
        assert.doesNotMatch(response.text, /access-control|\nallow/i);
        assert.equal(response.value("vary"), "Origin");
        assert.equal(response.value("x-ratelimit-remaining"), target === "/healthz" ? undefined : "60");
      }
    }
  }
});

test("a preflight from an allowed origin is free, needs no key, and shows the address's window", async (context) => {
  const { port } = await runningService(context, { options: { corsOrigins: [shop] } });
  for (const target of ["/v1/pets", "/v1/pets/1", "/v1/nothing"]) {
    const response = await exchange(port, request({ method: "OPTIONS", target, fields: [`Origin: ${shop}`, ...preflight] }));
    assert.equal(response.status, 204);
    assertPromised(response);
    assert.equal(response.value("access-control-allow-origin"), shop);
    assert.equal(response.value("access-control-allow-methods"), "GET, HEAD, POST, OPTIONS, PATCH, DELETE");
    assert.equal(response.value("access-control-allow-headers"), "authorization");
    assert.match(response.text, /\nVary: Access-Control-Request-Headers\r\n(.*\r\n)*Vary: Origin\r\n/);
    assert.equal(response.value("x-ratelimit-limit"), "60");
    assert.equal(response.value("x-ratelimit-remaining"), "60");
  }
});

test("an allowed page may send whatever fields it asks for, such as those of agents for tracing, if they are field names", async (context) => {
  for (const corsOrigins of [[shop], ["*"]]) {
    const { port } = await runningService(context, { options: { corsOrigins } });
    const table = [
      ["authorization,baggage,sentry-trace", "authorization,baggage,sentry-trace"],
      ["authorization, content-type ,traceparent", "authorization, content-type ,traceparent"],
      ["authorization, <b>", undefined],
      ["*", "*"],
      ["a,,b", undefined],
      ["", undefined],
    ] as const;
    for (const [asked, permitted] of table) {
      const fields = [`Origin: ${shop}`, "Access-Control-Request-Method: GET", `Access-Control-Request-Headers: ${asked}`];
      const response = await exchange(port, request({ method: "OPTIONS", fields }));
      assert.deepEqual([response.status, response.value("access-control-allow-headers")], [204, permitted], asked);
    }
  }
});

for (const app of ["capacitor://localhost", "app://obsidian.md", "tauri://localhost", "chrome-extension://abcdefghijklmnop"]) {
  test(`the page of an app, whose origin is ${app}, can be allowed, and no other with it`, async (context) => {
    const { port } = await runningService(context, { options: { corsOrigins: [shop, app] } });
    for (const [origin, allowed] of [[app, app], [shop, shop], ["capacitor://elsewhere", undefined], ["null", undefined]] as const) {
      const response = await exchange(port, request({ method: "OPTIONS", fields: [`Origin: ${origin}`, ...preflight] }));
      assert.equal(response.value("access-control-allow-origin"), allowed);
    }
  });
}

test("a preflight for a public page is answered as one, without rate fields", async (context) => {
  const { port } = await runningService(context, { options: { corsOrigins: [shop] } });
  for (const target of ["/healthz", "/openapi.json"]) {
    const fields = [`Origin: ${shop}`, ...preflight];
    const response = await exchange(port, request({ method: "OPTIONS", target, fields }));
    assert.equal(response.status, 204);
    assert.equal(response.value("access-control-allow-origin"), shop);
    assert.match(response.value("access-control-allow-methods") ?? "", /GET/);
    assert.equal(response.value("access-control-allow-headers"), "authorization");
    assert.ok(Number(response.value("access-control-max-age")) > 0);
    assert.equal(response.value("x-ratelimit-limit"), undefined);
    const plain = await exchange(port, request({ method: "OPTIONS", target, fields: [`Origin: ${shop}`] }));
    assert.deepEqual([plain.status, plain.value("allow")], [204, "GET, HEAD, OPTIONS"], "OPTIONS that is no preflight");
  }
});

test("a preflight gets its response even if the address's window is empty", async (context) => {
  const { port } = await runningService(context, { options: { corsOrigins: [shop] } });
  while ((await exchange(port, request({}))).status === 401) {
    // Uses up the window.
  }
  const response = await exchange(port, request({ method: "OPTIONS", fields: [`Origin: ${shop}`, ...preflight] }));
  assert.equal(response.status, 204);
  assert.equal(response.value("x-ratelimit-remaining"), "0");
});

test("OPTIONS from an allowed origin is no preflight without Access-Control-Request-Method: it needs a key", async (context) => {
  const { port, key } = await runningService(context, { options: { corsOrigins: [shop] } });
  for (const [secret, status] of [["", 401], [key, 204]] as const) {
    const response = await exchange(port, request({ method: "OPTIONS", key: secret, fields: [`Origin: ${shop}`] }));
    assert.deepEqual([response.status, response.value("access-control-allow-methods")], [status, undefined]);
  }
});

/** A script cannot even read a status without the permission, which something in between may give. */
test("every response to a page, errors too, exposes the service's fields whatever the settings, and permits what they allow", async (context) => {
  for (const corsOrigins of [["https://other.example", shop], ["*"], ["https://other.example"], []]) {
    await assertExposed(context, corsOrigins);
  }
});

async function assertExposed(context: TestContext, corsOrigins: readonly string[]): Promise<void> {
  const { port, key } = await runningService(context, { options: { corsOrigins } });
  const allowed = corsOrigins.includes("*") ? "*" : corsOrigins.find((origin) => origin === shop);
  const table = [
    [200, { key }],
    [201, { key, method: "POST", content: rex }],
    [400, { key, target: "/v1/pets?limit=0" }],
    [400, { key, fields: ["Host: a", "Host: b"] }],
    [401, {}],
    [404, { key, target: "/v1/nothing" }],
    [405, { key, method: "DELETE" }],
    [415, { key, method: "POST", fields: ["Content-Type: text/plain"] }],
    [200, { key, target: "/v1/pets/1" }],
    [304, { key, target: "/v1/pets/1", fields: ['If-None-Match: "available-1"'] }],
    [412, { key, target: "/v1/pets/1", method: "PATCH", fields: ["If-Match: sold"], content: '{"status":"sold"}' }],
    [415, { key, target: "/v1/pets/1", method: "PATCH", fields: ["If-Match: *", "Content-Type: text/plain"] }],
    [200, { target: "/healthz" }],
  ] as const;
  for (const [status, parts] of table) {
    const given = "fields" in parts ? parts.fields : [];
    const response = await exchange(port, request({ ...parts, fields: [...given, `Origin: ${shop}`] }));
    assert.equal(response.status, status);
    assert.equal(response.value("access-control-allow-origin"), allowed);
    assert.equal(response.value("vary"), "Origin");
    const exposed = (response.value("access-control-expose-headers") ?? "").toLowerCase().split(", ");
    assert.ok(exposed.includes("idempotent-replayed"));
    const simple = ["date", "connection", "keep-alive", "content-type", "content-length", "cache-control", "vary"];
    for (const [name] of response.fields) {
      const isHidden = simple.includes(name) || name.startsWith("access-control-") || name === "x-content-type-options";
      assert.ok(isHidden || exposed.includes(name), name);
    }
    if (!("target" in parts && parts.target === "/healthz")) {
      assertPromised(response);
    }
  }
}
