/**
 * Goal: the description is true. Method: every response that it describes is brought about, of every operation with
 * every code, and each response of the service is compared with it. A response that is not described is a fault, and so
 * is a described one that no request receives.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { MemoryLimiter } from "../../src/limits/memory-limiter.ts";
import { OutcomeUnknownError, StorageUnavailableError } from "../../src/pets/pet-store.ts";
import { FailingStore } from "../support/failing-store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { type RunningService, startService } from "../support/running-service.ts";
import { codeOf, type WireResponse } from "../support/wire-response.ts";
import { exchange, request } from "../support/wire.ts";
import { published } from "./description.ts";
import { Walk } from "./walk.ts";

const createPet = ["POST", "/v1/pets"] as const;
const listPets = ["GET", "/v1/pets"] as const;
const getPet = ["GET", "/v1/pets/1"] as const;
const getLimits = ["GET", "/v1/limits"] as const;
const changePet = ["PATCH", "/v1/pets/1"] as const;
const removePet = ["DELETE", "/v1/pets/1"] as const;
const everyOperation: readonly Place[] = [createPet, listPets, getPet, changePet, removePet, getLimits];
const writing: readonly Place[] = [createPet, changePet, removePet];
const withContent: readonly Place[] = [createPet, changePet];
const ifAny = ["If-Match: *"];

type Place = readonly [method: string, target: string];

const clock = new ManualClock();
const failingStore = new FailingStore();
const walk = new Walk(published(), "/v1");
/** Time-outs as short as can be: the walk waits for them. */
const limits = { fieldsMs: 250, requestMs: 500, timeoutCheckMs: 20 };
const healthy = await startService({ clock, limits });
const broken = await startService({ clock, limits, options: { store: failingStore } });
after(() => Promise.all([healthy, broken].map((running) => running.close())));
for (const status of ["available", "pending", "sold"]) {
  await ask("POST", "/v1/pets", { content: JSON.stringify({ name: "Rex", categoryId: 5, status }) });
}

interface Asked {
  readonly query?: string;
  /** Undefined: the key of the service; "" none. */
  readonly key?: string;
  readonly fields?: readonly string[];
  readonly content?: string;
  readonly to?: RunningService;
  /** Sent in place of the empty line that ends the fields. */
  readonly ending?: string;
}

/** Sends the request, and fails unless the response is as described. */
async function ask(method: string, target: string, asked: Asked = {}): Promise<WireResponse> {
  const { to = healthy, key = to.key, fields = [], content = "", query = "", ending } = asked;
  const bytes = request({ method, target: `${target}${query}`, key, fields, content });
  const response = await exchange(to.port, ending === undefined ? bytes : `${bytes.subarray(0, -2).toString()}${ending}`);
  assert.deepEqual(walk.judge(method, target, response), [], JSON.stringify(asked).slice(0, 200));
  return response;
}

/** Asks this of all these operations at once, and fails unless each response has this status. */
async function askAll(status: number, all: readonly Place[], asked: Asked): Promise<void> {
  await Promise.all(
    all.map(async ([method, target]) => {
      const response = await ask(method, target, asked);
      assert.equal(response.status, status, `${method} ${target}`);
    }),
  );
}

/** A key whose quota of one request a minute is used up. */
async function usedUpKey(): Promise<string> {
  const { key } = await healthy.service.keys.create({ plan: "enterprise", perMinute: 1, perDay: 1_000 });
  await ask("GET", "/v1/pets", { key });
  return key;
}

test("/openapi.json and the service's description are the one that the responses are compared with", async () => {
  const page = await exchange(healthy.port, request({ target: "/openapi.json" }));
  assert.equal(page.status, 200);
  assert.deepEqual(JSON.parse(page.content), published());
  assert.deepEqual(JSON.parse(JSON.stringify(healthy.service.description)), published());
});

test("the description is true of requests that succeed", async () => {
  await askAll(200, [listPets, getPet, ["GET", "/v1/limits"]], {});
  await ask("GET", "/v1/pets?limit=1&status=sold");
  await ask("GET", "/v1/pets?categoryId=5&status=sold");
  assert.ok((await ask("GET", "/v1/pets?limit=1")).value("link") !== undefined);
});

test("the description is true of a read-only key", async () => {
  const { key } = await healthy.service.keys.create({ readOnly: true });
  await askAll(403, writing, { key });
  await askAll(200, [listPets, getPet, getLimits], { key });
});

test("the description is true of requests that are damaged", async () => {
  await askAll(400, everyOperation, { fields: ["Host: a", "Host: b"] });
  await askAll(431, everyOperation, { fields: [`X-Long: ${"x".repeat(16_384)}`] });
  await askAll(408, everyOperation, { ending: "X-Unfinished" });
  await askAll(400, [listPets], { fields: ["Content-Length: 1", "Content-Length: 2"] });
});

test("the description is true of content that is damaged", async () => {
  await askAll(408, withContent, { fields: [...ifAny, "Content-Length: 10"] });
  await askAll(400, withContent, { fields: [...ifAny, "Transfer-Encoding: chunked"], ending: "\r\nno length\r\n" });
});

test("the description is true of requests without a valid key, and with a target that is too long", async () => {
  await askAll(401, everyOperation, { key: "" });
  await askAll(401, everyOperation, { key: "as_wrong" });
  await askAll(414, everyOperation, { query: `?${"x".repeat(8_192)}` });
});

test("the description is true of a key over its limit, and of a banned one", async () => {
  const key = await usedUpKey();
  await askAll(429, everyOperation, { key });
  for (let second = 0; second < 10; second += 1) {
    clock.advance(1_000);
    await ask("GET", "/v1/pets", { key });
  }
  assert.equal(codeOf(await ask("GET", "/v1/pets", { key })), "key_banned");
  await askAll(429, everyOperation, { key });
});

test("the description is true of an address that keeps sending without a key", async () => {
  // The clock moves, so that no other test's requests are counted along with these.
  clock.advance(60_000);
  const statuses: number[] = [];
  for (let count = 0; count < 60; count += 1) {
    statuses.push((await ask("GET", "/v1/pets", { key: "" })).status);
  }
  assert.deepEqual(statuses, Array<number>(60).fill(401));
  await askAll(429, everyOperation, { key: "" });
  clock.advance(60_000);
});

test("the description is true of every query and every content that is refused", async () => {
  for (const query of ["limit=0", "limit=101", "limit=", "limit=1&limit=1", "status=dead", "categoryId=5.0", "after=-1", "page=2"]) {
    assert.equal((await ask("GET", `/v1/pets?${query}`)).status, 400, query);
  }
  assert.equal((await ask("GET", "/v1/pets/0")).status, 404);
  assert.equal((await ask("GET", "/v1/pets/rex")).status, 404);
  const table: readonly (readonly [number, string, readonly string[]])[] = [
    [400, "{", []],
    [400, '{"name":"Rex"}', []],
    [415, "{}", ["Content-Type: text/plain"]],
    [415, "{}", ["Content-Encoding: gzip"]],
    [413, `"${"x".repeat(16_384)}"`, []],
    [201, '{"name":"Rex","categoryId":9007199254740992}', ["Content-Type: application/json"]],
  ];
  for (const [status, content, fields] of table) {
    assert.equal((await ask("POST", "/v1/pets", { content, fields })).status, status, content.slice(0, 40));
  }
});

test("the description is true of changes, and of animals fetched under preconditions", async () => {
  const content = '{"status":"sold"}';
  const table: readonly (readonly [number, string, readonly string[]])[] = [
    [428, content, []],
    [400, content, ["If-Match: sold,"]],
    [400, content, [...ifAny, "If-None-Match:"]],
    [400, content, [...ifAny, "Idempotency-Key:"]],
    [400, "{", ifAny],
    [400, "{}", ifAny],
    [415, content, [...ifAny, "Content-Type: text/plain"]],
    [415, content, [...ifAny, "Content-Encoding: gzip"]],
    [413, `"${"x".repeat(16_384)}"`, ifAny],
    [200, content, [...ifAny, "Content-Type: application/merge-patch+json", "Idempotency-Key: change"]],
    [200, content, [...ifAny, "Idempotency-Key: change"]],
    [422, '{"status":"pending"}', [...ifAny, "Idempotency-Key: change"]],
    [412, content, ["If-Match: pending"]],
    [400, content, [...ifAny, "If-None-Match: sold"]],
    [200, '{"status":"available"}', ["If-Match: sold"]],
    [200, '{"name":"Rexi","categoryId":-6}', ['If-Match: "available-3"']],
  ];
  for (const [status, sent, fields] of table) {
    assert.equal((await ask("PATCH", "/v1/pets/1", { content: sent, fields })).status, status, fields.join());
  }
  assert.equal((await ask("PATCH", "/v1/pets/0", { content, fields: ifAny })).status, 404);
  assert.equal((await ask("GET", "/v1/pets/1", { fields: ['If-None-Match: "available-4"'] })).status, 304);
  assert.equal((await ask("GET", "/v1/pets/1", { fields: ["If-Match: sold"] })).status, 412);
  assert.equal((await ask("GET", "/v1/pets/1", { fields: ["If-Match: lost"] })).status, 400);
});

test("the description is true of removals", async () => {
  const { value } = await ask("POST", "/v1/pets", { content: '{"name":"Naem","categoryId":5}' });
  const target = value("location") ?? "";
  const once = [...ifAny, "Idempotency-Key: removal"];
  const table: readonly (readonly [number, readonly string[]])[] = [
    [428, []],
    [400, ["If-Match: sold,"]],
    [400, [...ifAny, "Idempotency-Key:"]],
    [412, ["If-Match: sold"]],
    [204, once],
    [204, once],
    [404, ifAny],
  ];
  for (const [status, fields] of table) {
    assert.equal((await ask("DELETE", target, { fields })).status, status, fields.join());
  }
  assert.equal((await ask("DELETE", "/v1/pets/1", { fields: once })).status, 422);
  assert.equal((await ask("GET", target)).status, 404);
});

test("the description is true of creates with an Idempotency-Key", async () => {
  const create = (key: string, name: string) =>
    ask("POST", "/v1/pets", { content: JSON.stringify({ name, categoryId: 5 }), fields: [`Idempotency-Key: ${key}`] });
  assert.equal((await create("first", "Rex")).status, 201);
  const replayed = await create("first", "Rex");
  assert.equal(replayed.status, 201);
  assert.equal(replayed.value("idempotent-replayed"), "true");
  assert.equal((await create("first", "Misty")).status, 422);
  assert.equal((await create("x".repeat(256), "Rex")).status, 400);
});

test("the description is true of a store that fails", async () => {
  const content = JSON.stringify({ name: "Rex", categoryId: 5 });
  await askAll(500, [listPets, getPet], { to: broken });
  await askAll(500, [createPet], { to: broken, content });
  const change = { to: broken, content: '{"status":"sold"}', fields: ifAny };
  await askAll(500, [changePet, removePet], change);
  for (const failure of [new StorageUnavailableError("full"), new OutcomeUnknownError("sync")]) {
    failingStore.failure = failure;
    assert.equal((await ask("POST", "/v1/pets", { to: broken, content })).status, 503);
    await askAll(503, [changePet, removePet], change);
  }
  failingStore.failure = new StorageUnavailableError("down");
  await askAll(503, [listPets, getPet], { to: broken });
});

test("the description is true of limits that cannot be reached", async (context) => {
  const take = context.mock.method(MemoryLimiter.prototype, "take");
  for (const [failure, status] of [[new StorageUnavailableError("down"), 503], [new Error("wrong"), 500]] as const) {
    const quotas = (): never => {
      throw failure;
    };
    take.mock.mockImplementation(() => ({ kind: "allowed", limit: 1, remaining: 1, resetSeconds: 1, quotas }));
    await askAll(status, [getLimits], {});
  }
});

test("every response that is described has been received, with its fields, and the messages of its examples", () => {
  assert.deepEqual(walk.unseen(), []);
  assert.deepEqual(walk.untrueExamples(), []);
});
