/**
 * The description is true: every response that it describes is brought about, on every path, with every method and
 * every code, and each answer of the service is held against it. An answer that is not described is a fault, and so is
 * a described one that nothing brings about.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { bounds } from "../../src/http/bounds.ts";
import { createListener } from "../../src/http/listener.ts";
import { type AnimalStoreOptions, checkOptions } from "../../src/options.ts";
import { OutcomeUnknownError, StorageUnavailableError } from "../../src/pets/pet-store.ts";
import { openService, type Service } from "../../src/service.ts";
import { FailingStore } from "../support/failing-store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { published } from "./description.ts";
import { type RawResponse, rawRequest } from "./raw-request.ts";
import { Walk } from "./walk.ts";

const origin = "https://shop.example";
const corsOrigins = [origin];

/** Each path with every method that it knows, and one that it does not; "*" stands for any other path. */
const places: readonly (readonly [string, readonly string[]])[] = [
  ["/v1/pets", ["GET", "HEAD", "POST", "OPTIONS", "PUT"]],
  ["/v1/pets/1", ["GET", "HEAD", "OPTIONS", "DELETE"]],
  ["/healthz", ["GET", "HEAD", "OPTIONS", "POST"]],
  ["/openapi.json", ["GET", "HEAD", "OPTIONS", "POST"]],
  ["/v1/nothing", ["GET"]],
];

interface Running {
  readonly service: Service;
  readonly port: number;
  /** A key without a limit that could be felt. */
  readonly key: string;
}

const clock = new ManualClock();
const failingStore = new FailingStore();
const walk = new Walk(published(), "/v1");
/** What has to be closed whether or not all of it has started. */
const closers: (() => Promise<void>)[] = [];
let sound: Running;
let broken: Running;

async function start(options: Partial<AnimalStoreOptions>): Promise<Running> {
  const dataDir = await mkdtemp(join(tmpdir(), "animal-store-walk-"));
  const checked = checkOptions({ dataDir, corsOrigins, report: () => undefined, ...options });
  const service = await openService(checked, { clock });
  // Time-outs as short as can be: the walk waits for them.
  const listener = createListener(service, { ...bounds, fieldsMs: 250, requestMs: 500, timeoutCheckMs: 20 });
  await new Promise<void>((resolve) => listener.server.listen(0, "127.0.0.1", resolve));
  // An address that is no path: it listens on a port.
  const { port } = listener.server.address() as AddressInfo;
  closers.push(async () => {
    await listener.stop(0);
    await service.close();
    await rm(dataDir, { recursive: true });
  });
  const { key } = await service.keys.create({ plan: "enterprise", perMinute: 100_000, perDay: 100_000 });
  return { service, port, key };
}

before(async () => {
  sound = await start({});
  broken = await start({ store: failingStore });
  for (const status of ["available", "pending", "sold"]) {
    await ask("POST", "/v1/pets", { content: JSON.stringify({ name: "Rex", categoryId: 5, status }) });
  }
});

after(async () => {
  for (const close of closers) {
    await close();
  }
});

interface Asked {
  readonly query?: string;
  /** Undefined: the key of the service; "" none. */
  readonly key?: string;
  readonly fields?: readonly string[];
  readonly content?: string;
  readonly to?: Running;
  /** Sent as it is in the place of the empty line that ends the fields. */
  readonly ending?: string;
}

/** Sends the request, and fails unless the description says all about the answer. */
async function ask(method: string, target: string, asked: Asked = {}): Promise<RawResponse> {
  const { to = sound, key = to.key, fields = [], content = "", query = "", ending = "\r\n" } = asked;
  const lines = [
    `${method} ${target}${query} HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
    ...(key === "" ? [] : [`Authorization: Bearer ${key}`]),
    ...(content === "" ? [] : [`Content-Length: ${Buffer.byteLength(content)}`]),
    ...fields,
  ];
  const response = await rawRequest(to.port, `${lines.join("\r\n")}\r\n${ending}${content}`);
  assert.deepEqual(walk.judge(method, target, response), [], JSON.stringify(asked).slice(0, 200));
  return response;
}

type Place = readonly [method: string, target: string];

const everywhere: readonly Place[] = places.flatMap(([target, methods]) =>
  methods.map((method) => [method, target] as const),
);
/** Public pages ask for no key, so nothing that has to do with one happens there. */
const onApi = everywhere.filter(([, target]) => target.startsWith("/v1/"));

/** Asks this at all these places at once, and fails unless each answer has this status. */
async function askAll(status: number, all: readonly Place[], asked: Asked): Promise<void> {
  await Promise.all(
    all.map(async ([method, target]) => {
      const response = await ask(method, target, asked);
      assert.equal(response.status, status, `${method} ${target}`);
    }),
  );
}

/** A key of which the only request of the minute is used up. */
async function usedUpKey(): Promise<string> {
  const { key } = await sound.service.keys.create({ plan: "enterprise", perMinute: 1, perDay: 1_000 });
  await ask("GET", "/v1/pets", { key });
  return key;
}

test("the description knows what a request gets that is well, but no use", async () => {
  for (const [method, target] of everywhere) {
    await ask(method, target);
  }
  await ask("GET", "/v1/pets?limit=1&status=sold");
  assert.ok((await ask("GET", "/v1/pets?limit=1")).fields.some(([name]) => name === "Link"));
  await ask("HEAD", "/v1/pets?limit=1");
});

test("the description knows what happens to a request that is damaged", async () => {
  await askAll(400, everywhere, { fields: ["Host: other"] });
  await askAll(431, everywhere, { fields: [`X-Long: ${"x".repeat(16_384)}`] });
  await askAll(408, everywhere, { ending: "X-Unfinished" });
  await askAll(400, [["GET", "/v1/pets"]], { fields: ["Content-Length: 1", "Content-Length: 2"] });
});

test("the description knows what happens to content that is damaged", async () => {
  const createPet: readonly Place[] = [["POST", "/v1/pets"]];
  await askAll(408, createPet, { fields: ["Content-Length: 10"] });
  await askAll(400, createPet, { fields: ["Transfer-Encoding: chunked"], ending: "\r\nno length\r\n" });
});

test("the description knows what happens to a request that is not let through", async () => {
  await askAll(401, onApi, { key: "" });
  await askAll(401, onApi, { key: "as_wrong" });
  await askAll(414, onApi, { query: `?${"x".repeat(8_192)}` });
});

test("the description knows what happens to a key that is over its limit, and to one that goes on", async () => {
  const key = await usedUpKey();
  await askAll(429, onApi, { key });
  for (let second = 0; second < 10; second += 1) {
    clock.advance(1_000);
    await ask("GET", "/v1/pets", { key });
  }
  const response = await ask("GET", "/v1/pets", { key });
  assert.match(response.content, /key_banned/);
  await askAll(429, onApi, { key });
});

test("the description knows what happens to an address that goes on without a key", async () => {
  // The clock moves, so that no other test's requests are counted along with these.
  clock.advance(60_000);
  const statuses: number[] = [];
  for (let count = 0; count < 61; count += 1) {
    statuses.push((await ask("GET", "/v1/pets", { key: "" })).status);
  }
  assert.deepEqual(statuses, [...Array<number>(60).fill(401), 429]);
  clock.advance(60_000);
});

test("the description knows every query and every content that is refused", async () => {
  for (const method of ["GET", "HEAD"]) {
    for (const query of ["limit=0", "limit=101", "limit=", "limit=1&limit=1", "status=dead", "after=-1", "page=2"]) {
      assert.equal((await ask(method, `/v1/pets?${query}`)).status, 400, query);
    }
    assert.equal((await ask(method, "/v1/pets/0")).status, 404);
    assert.equal((await ask(method, "/v1/pets/rex")).status, 404);
  }
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

test("the description knows what browsers get, preflights too", async () => {
  const fields = [`Origin: ${origin}`];
  const preflight = [...fields, "Access-Control-Request-Method: GET"];
  for (const [method, target] of everywhere) {
    const { fields: received } = await ask(method, target, { fields });
    assert.ok(received.some(([name]) => name === "Access-Control-Allow-Origin"), `${method} ${target}`);
  }
  for (const [target] of places) {
    assert.equal((await ask("OPTIONS", target, { fields: preflight, key: "" })).status, 204, target);
  }
});

test("the description knows what a store that fails leads to", async () => {
  const content = JSON.stringify({ name: "Rex", categoryId: 5 });
  const readers = onApi.filter(([method, target]) => /GET|HEAD/.test(method) && target.startsWith("/v1/pets"));
  await askAll(500, readers, { to: broken });
  await askAll(500, [["POST", "/v1/pets"]], { to: broken, content });
  for (const failure of [new StorageUnavailableError("full"), new OutcomeUnknownError("sync")]) {
    failingStore.failure = failure;
    assert.equal((await ask("POST", "/v1/pets", { to: broken, content })).status, 503);
  }
  failingStore.failure = new StorageUnavailableError("down");
  await askAll(503, readers, { to: broken });
  assert.equal((await ask("GET", "/healthz", { to: broken })).status, 503);
  assert.equal((await ask("HEAD", "/healthz", { to: broken })).status, 503);
});

test("the description describes nothing that the walk has not met", () => {
  assert.deepEqual(walk.unseen(), []);
});
