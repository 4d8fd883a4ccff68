import assert from "node:assert/strict";
import { test } from "node:test";

import type { KeySummary } from "../../src/keys/key-summary.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { runningService } from "../support/running-service.ts";
import { assertPromised, codeOf } from "../support/wire-response.ts";
import { exchange, request } from "../support/wire.ts";

const startSeconds = 1_795_262_400;
const target = "/v1/limits";

test("getLimits returns the plan and both quotas, after taking its own token", async (context) => {
  const clock = new ManualClock({ wallMs: startSeconds * 1_000 });
  const { service, port } = await runningService(context, { clock });
  const { key } = await service.keys.create({ plan: "free" });
  for (const used of [1, 2]) {
    const response = await exchange(port, request({ target, key }));
    assert.equal(response.status, 200);
    assertPromised(response);
    assert.equal(
      response.content,
      `{"plan":"free","readOnly":false,"minute":{"limit":60,"remaining":${60 - used},"reset":${startSeconds + 60}},` +
        `"day":{"limit":1000,"remaining":${1_000 - used},"reset":${startSeconds + 86_400}}}`,
    );
    assert.equal(response.value("x-ratelimit-remaining"), String(60 - used));
  }
  clock.advance(60_000);
  await exchange(port, request({ target: "/v1/pets", key }));
  const later = JSON.parse((await exchange(port, request({ target, key }))).content) as Record<string, unknown>;
  assert.deepEqual(later["minute"], { limit: 60, remaining: 58, reset: startSeconds + 120 });
  assert.deepEqual(later["day"], { limit: 1_000, remaining: 996, reset: startSeconds + 86_400 });
});

test("getLimits says whether a key is read-only, before its first refusal", async (context) => {
  const { service, port } = await runningService(context);
  for (const readOnly of [true, false]) {
    const { key } = await service.keys.create({ readOnly });
    const response = await exchange(port, request({ target, key }));
    assertPromised(response);
    assert.equal((JSON.parse(response.content) as { readonly readOnly: unknown }).readOnly, readOnly);
  }
});

test("getLimits is checked like every request: 401 without a key, 429 over the limit, 405 for other methods", async (context) => {
  const { service, port, key } = await runningService(context);
  const { key: used } = await service.keys.create({ plan: "enterprise", perMinute: 1, perDay: 9 });
  await exchange(port, request({ target, key: used }));
  const table = [
    ["missing_api_key", { target }],
    ["rate_limited", { target, key: used }],
    ["method_not_allowed", { target, key, method: "POST" }],
    ["route_not_found", { target: "/v1/limits/", key }],
  ] as const;
  for (const [code, asked] of table) {
    const response = await exchange(port, request(asked));
    assert.equal(codeOf(response), code);
    assertPromised(response);
  }
  assert.equal((await exchange(port, request({ target, key, method: "OPTIONS" }))).value("allow"), "GET, HEAD, OPTIONS");
  const head = await exchange(port, request({ target, key, method: "HEAD" }));
  assert.equal(head.status, 200);
  assertPromised(head, { isHead: true });
});

test("a key that is reset has both windows full and no ban, and its next ban is as short as a first one", async (context) => {
  const clock = new ManualClock();
  const { service, port } = await runningService(context, { clock });
  const { id, key } = await service.keys.create({ plan: "enterprise", perMinute: 1, perDay: 9 });
  const untilBanned = async (): Promise<string | undefined> => {
    for (let count = 0; count < 20; count++) {
      const response = await exchange(port, request({ target, key }));
      if (codeOf(response) === "key_banned") {
        return response.value("retry-after");
      }
      clock.advance(1_000);
    }
    return "never";
  };
  assert.equal(await untilBanned(), "300");
  clock.advance(300_000);
  assert.equal(await untilBanned(), "600");
  await service.keys.reset(id);
  assert.match((await exchange(port, request({ target, key }))).content, /"remaining":0,.*"remaining":8,/);
  assert.equal(await untilBanned(), "300");
});

test("keys.list() tells what is used of each key, and until when it is banned", async (context) => {
  const clock = new ManualClock();
  const { service, port } = await runningService(context, { clock });
  const { id, key } = await service.keys.create({ plan: "enterprise", perMinute: 2, perDay: 9, label: "shop", readOnly: true });
  const listed = async (): Promise<KeySummary | undefined> => (await service.keys.list()).find((one) => one.id === id);
  const made: KeySummary = {
    id,
    state: "active",
    plan: "enterprise",
    readOnly: true,
    minute: { limit: 2, used: 0 },
    day: { limit: 9, used: 0 },
    bannedUntil: null,
    lastRequest: null,
    created: "2026-11-21T12:00:00Z",
    expires: null,
    graceUntil: null,
    label: "shop",
  };
  assert.deepEqual(await listed(), made);
  for (let count = 0; count < 12; count++) {
    await exchange(port, request({ target, key }));
    clock.advance(1_000);
  }
  const used = { minute: { limit: 2, used: 2 }, day: { limit: 9, used: 2 } };
  assert.deepEqual(await listed(), { ...made, ...used, state: "banned", bannedUntil: "2026-11-21T12:05:11Z", lastRequest: "2026-11-21T12:00:11Z" });
  clock.advance(9_000);
  await service.keys.reset(id);
  assert.deepEqual(await listed(), { ...made, lastRequest: "2026-11-21T12:00:11Z" });
});

test("a reset in the middle of a flood yields two full windows at most", async (context) => {
  const { service, port } = await runningService(context, { clock: new ManualClock() });
  const { id, key } = await service.keys.create({ plan: "enterprise", perMinute: 10, perDay: 1_000 });
  let servedCount = 0;
  const flood = async (count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent++) {
      const { status } = await exchange(port, request({ target, key }));
      servedCount += status === 200 ? 1 : 0;
    }
  };
  await flood(5);
  await Promise.all([service.keys.reset(id), flood(20), flood(20)]);
  await flood(20);
  assert.ok(servedCount >= 15 && servedCount <= 20, `${servedCount}`);
});

test("a rotated key has the counters and the ban of its id", async (context) => {
  const clock = new ManualClock();
  const { service, port } = await runningService(context, { clock });
  const { id, key } = await service.keys.create({ plan: "enterprise", perMinute: 2, perDay: 9 });
  assert.match((await exchange(port, request({ target, key }))).content, /"remaining":1,.*"remaining":8,/);
  const { key: second } = await service.keys.rotate(id);
  assert.match((await exchange(port, request({ target, key: second }))).content, /"remaining":0,.*"remaining":7,/);
  let code: string | undefined;
  for (let count = 0; count < 20 && code !== "key_banned"; count++) {
    code = codeOf(await exchange(port, request({ target, key: second })));
    clock.advance(1_000);
  }
  assert.equal(code, "key_banned");
  const { key: third } = await service.keys.rotate(id);
  assert.equal(codeOf(await exchange(port, request({ target, key: third }))), "key_banned");
});
