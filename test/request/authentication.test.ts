/**
 * Who may ask, and in which order a request is judged: authenticate, limit, route.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { test } from "node:test";

import { ManualClock } from "../support/manual-clock.ts";
import { keyWithQuota, runningService } from "../support/running-service.ts";
import { assertPromised, codeOf } from "../support/wire-response.ts";
import { exchange, request, rex } from "../support/wire.ts";

const table: readonly (readonly [name: string, fields: (key: string) => readonly string[], code: string | undefined])[] = [
  ["no Authorization", () => [], "missing_api_key"],
  ["another scheme", () => ["Authorization: Basic YTpi"], "missing_api_key"],
  ["an empty Authorization", () => ["Authorization:"], "missing_api_key"],
  ["a scheme that begins alike", (key) => [`Authorization: Bearers ${key}`], "missing_api_key"],
  ["a scheme alone", () => ["Authorization: Bearer"], "invalid_api_key"],
  ["a key that was never made", () => [`Authorization: Bearer as_${"a".repeat(43)}`], "invalid_api_key"],
  ["a key with a letter too many", (key) => [`Authorization: Bearer ${key}a`], "invalid_api_key"],
  ["a key in quotes", (key) => [`Authorization: Bearer "${key}"`], "invalid_api_key"],
  ["two keys in one field", (key) => [`Authorization: Bearer ${key}, Bearer ${key}`], "invalid_api_key"],
  ["two Authorization fields", (key) => Array<string>(2).fill(`Authorization: Bearer ${key}`), "invalid_api_key"],
  ["a second, empty one", (key) => [`Authorization: Bearer ${key}`, "AUTHORIZATION:"], "invalid_api_key"],
  ["a key", (key) => [`Authorization: Bearer ${key}`], undefined],
  ["a key after two spaces", (key) => [`Authorization:  Bearer  ${key}`], undefined],
  ["the scheme in lower case", (key) => [`authorization: bearer ${key}`], undefined],
  ["the scheme in upper case", (key) => [`AUTHORIZATION: BEARER ${key}`], undefined],
  ["a key beside fields with names as long as Host and Authorization", (key) => {
    return ["Date: now", "From: me", "Cache-Control: no-cache", `Authorization: Bearer ${key}`];
  }, undefined],
  ["a key after 90 other fields", (key) => [...Array<string>(90).fill("a:"), `Authorization: Bearer ${key}`], undefined],
  ["a second one after 90 other fields", (key) => {
    const field = `Authorization: Bearer ${key}`;
    return [field, ...Array<string>(90).fill("a:"), field];
  }, "invalid_api_key"],
];

test("each way to send a key is 200, or 401 with its code and challenge, on known paths and unknown ones", async (context) => {
  const running = await runningService(context, { options: {} });
  for (const [name, fields, code] of table) {
    for (const target of ["/v1/pets", "/v1/pets/1", "/v1/nothing", "*"]) {
      const parts = { target, method: target === "*" ? "OPTIONS" : "GET", fields: fields(running.key) };
      const response = await exchange(running.port, request(parts));
      assertPromised(response);
      if (code === undefined) {
        assert.equal(response.status, target === "/v1/pets" ? 200 : 404, `${name} ${target}`);
      } else if (response.status !== 429) {
        assert.equal(codeOf(response), code, `${name} ${target}`);
        assert.equal(response.value("x-ratelimit-limit"), "60");
        assert.equal(response.value("deprecation"), undefined);
      }
    }
  }
});

test("failed authentication counts for the address: 60 a minute, then 429, while a valid key is served", async (context) => {
  const clock = new ManualClock();
  const running = await runningService(context, { clock });
  for (let left = 59; left >= 0; left--) {
    const response = await exchange(running.port, request({ key: "as_wrong" }));
    assert.equal(response.status, 401);
    assert.equal(response.value("x-ratelimit-remaining"), String(left));
  }
  const refused = await exchange(running.port, request({}));
  assert.equal(codeOf(refused), "too_many_failures");
  assert.equal(refused.value("retry-after"), "60");
  assertPromised(refused);
  assert.equal((await exchange(running.port, request({ key: running.key }))).status, 200);
  clock.advance(60_000);
  assert.equal((await exchange(running.port, request({}))).status, 401);
});

const skip = process.platform === "linux" ? false : "only Linux has all addresses of 127.0.0.0/8";
test("failed authentication of one socket address leaves another alone", { skip }, async (context) => {
  const { port } = await runningService(context, { clock: new ManualClock() });
  for (const [localAddress, left] of [["127.0.0.1", "59"], ["127.0.0.2", "59"], ["127.0.0.1", "58"]] as const) {
    const asked = get({ host: "127.0.0.1", port, localAddress, path: "/v1/pets", agent: false });
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    response.resume();
    assert.equal(response.headers["x-ratelimit-remaining"], left, localAddress);
  }
});

test("each authenticated request takes one token whatever its outcome, but a 429 takes none", async (context) => {
  const clock = new ManualClock();
  const running = await runningService(context, { clock });
  const key = await keyWithQuota(running, 12);
  const outcomes = [
    [200, {}],
    [200, { method: "HEAD" }],
    [204, { method: "OPTIONS" }],
    [201, { method: "POST", content: rex }],
    [400, { target: "/v1/pets?limit=0" }],
    [400, { method: "POST", content: "{" }],
    [404, { target: "/v1/nothing" }],
    [404, { target: "/v1/pets/9" }],
    [405, { method: "PUT" }],
    [413, { method: "POST", content: " ".repeat(16_385) }],
    [414, { target: `/${"x".repeat(8_192)}` }],
    [415, { method: "POST", content: rex, fields: ["Content-Type: text/plain"] }],
  ] as const;
  let left = outcomes.length;
  for (const [status, parts] of outcomes) {
    const response = await exchange(running.port, request({ key, ...parts }), "method" in parts ? parts.method : "GET");
    assert.equal(response.status, status);
    assert.equal(response.value("x-ratelimit-remaining"), String(--left), `${status}`);
    assertPromised(response, { isHead: "method" in parts && parts.method === "HEAD" });
  }
  for (const [, parts] of outcomes) {
    const response = await exchange(running.port, request({ key, ...parts }), "method" in parts ? parts.method : "GET");
    assert.equal(response.status, 429);
  }
  clock.advance(60_000);
  assert.equal((await exchange(running.port, request({ key }))).value("x-ratelimit-remaining"), "11");
});

test("a key that keeps sending after 429 is banned: 429 key_banned, and other keys are not affected", async (context) => {
  const clock = new ManualClock();
  const running = await runningService(context, { clock });
  const key = await keyWithQuota(running, 1);
  const ask = () => exchange(running.port, request({ key }));
  assert.equal((await ask()).status, 200);
  const codes = [];
  for (let second = 0; second < 10; second++) {
    clock.advance(1_000);
    codes.push(codeOf(await ask()));
  }
  assert.deepEqual(codes, [...Array<string>(9).fill("rate_limited"), "key_banned"]);
  const banned = await ask();
  assertPromised(banned);
  assert.equal(banned.value("retry-after"), "300");
  assert.equal((await exchange(running.port, request({ key: running.key }))).status, 200);
});

test("the message of a 429 names the limit that Reset speaks of, and the seconds to wait; that of a ban says so", async (context) => {
  const clock = new ManualClock();
  const running = await runningService(context, { clock });
  const [perMinute, perDay] = [await keyWithQuota(running, 1), await keyWithQuota(running, 1_000, 1)];
  const saysOf = async (key: string, limit: RegExp): Promise<void> => {
    const response = await exchange(running.port, request({ key }));
    assert.equal(response.status, 429);
    assertPromised(response);
    const seconds = Number(response.value("x-ratelimit-reset")) - clock.wallMs() / 1_000;
    const { message } = JSON.parse(response.content) as { message: string };
    assert.match(message, limit);
    assert.match(message, new RegExp(`Wait ${seconds} second${seconds === 1 ? "" : "s"}\\.$`));
  };
  for (const key of [perMinute, perDay]) {
    assert.equal((await exchange(running.port, request({ key }))).status, 200);
  }
  for (let count = 0; count < 60; count++) {
    await exchange(running.port, request({}));
  }
  clock.advance(50_000);
  await saysOf(perMinute, /^The requests of the minute are used up\./);
  await saysOf(perDay, /^The requests of the day are used up\./);
  await saysOf("as_wrong", /from this address in a minute\./);
  for (let second = 0; second < 9; second++) {
    clock.advance(1_000);
    await exchange(running.port, request({ key: perDay }));
    await saysOf(perMinute, second < 8 ? /^The requests of the minute are used up\./ : /^The API key is banned .*responses\./);
  }
  await saysOf(perDay, /^The API key is banned .* The requests of the day are used up\./);
});

test("with trusted proxies in front, the client's own address counts", async (context) => {
  const running = await runningService(context, { options: { trustProxy: 1 } });
  const ask = (address: string) =>
    exchange(running.port, request({ fields: [`X-Forwarded-For: 203.0.113.9, ${address}`] }));
  assert.equal((await ask("192.0.2.1")).value("x-ratelimit-remaining"), "59");
  assert.equal((await ask("192.0.2.1")).value("x-ratelimit-remaining"), "58");
  assert.equal((await ask("192.0.2.2")).value("x-ratelimit-remaining"), "59");
  assert.deepEqual(running.reports.filter((line) => line.includes("X-Forwarded-For")), []);
});

test("without trusted proxies X-Forwarded-For is ignored, and warned of once", async (context) => {
  const running = await runningService(context);
  for (const [address, left] of [["192.0.2.1", "59"], ["192.0.2.2", "58"]] as const) {
    const response = await exchange(running.port, request({ fields: [`X-Forwarded-For: ${address}`] }));
    assert.equal(response.value("x-ratelimit-remaining"), left);
  }
  assert.equal(running.reports.filter((line) => line.includes("X-Forwarded-For")).length, 1);
});

test("a POST with a read-only key is 403 insufficient_scope, after the token and the route, and adds nothing", async (context) => {
  const { port, service, key: other } = await runningService(context);
  const { key } = await service.keys.create({ readOnly: true });
  const remainingOf = async (parts: Parameters<typeof request>[0], status: number): Promise<number> => {
    const response = await exchange(port, request({ ...parts, key }), parts.method);
    assertPromised(response, { isHead: parts.method === "HEAD" });
    assert.equal(response.status, status, `${parts.method} ${parts.target}`);
    if (status === 403) {
      assert.equal(codeOf(response), "insufficient_scope");
      assert.equal(response.value("www-authenticate"), 'Bearer realm="animal-store", error="insufficient_scope"');
    }
    return Number(response.value("x-ratelimit-remaining"));
  };
  const post = { method: "POST", target: "/v1/pets" };
  assert.equal(await remainingOf({ ...post, content: rex }, 403), 59);
  assert.equal(await remainingOf({ ...post, content: "{" }, 403), 58, "the content is not looked at");
  assert.equal(await remainingOf({ ...post, fields: ["Content-Type: text/plain", "Content-Length: 99999"] }, 403), 57);
  assert.equal(await remainingOf({ ...post, target: "/v1/nothing" }, 404), 56);
  assert.equal(await remainingOf({ ...post, target: "/v1/limits" }, 405), 55);
  assert.equal(await remainingOf({ method: "GET", target: "/v1/pets" }, 200), 54);
  assert.equal(await remainingOf({ method: "HEAD", target: "/v1/limits" }, 200), 53);
  assert.equal(await remainingOf({ method: "OPTIONS", target: "/v1/pets" }, 204), 52);
  assert.equal((await exchange(port, request({ key: other }))).content, "[]");
});
