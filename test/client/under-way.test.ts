/**
 * How many requests of a client are under way. The server here holds each request until the test has it answered, so a
 * test decides which calls still wait for their turn.
 */

import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { type ServerResponse } from "node:http";
import { test, type TestContext } from "node:test";

import { AnimalStoreClient, AnimalStoreError, type ClientOptions } from "../../src/client/client.ts";
import { errorJson } from "../../src/http/errors.ts";
import { serve } from "../support/embedding-server.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { runningService } from "../support/running-service.ts";
import { skipWaits } from "../support/skip-waits.ts";

const underWayMax = 9;
const rex = '{"id":1,"name":"Rex","categoryId":1,"status":"available"}';

/** A server that holds requests until it is told to answer them, and a client of it. */
async function holding(context: TestContext, options: Partial<ClientOptions> = {}) {
  const held: { readonly path: string; readonly outgoing: ServerResponse }[] = [];
  const paths: string[] = [];
  const arrivals = new EventEmitter();
  let isOpen = false;
  const port = await serve(context, (incoming, outgoing) => {
    incoming.resume();
    const { url: path = "" } = incoming;
    if (path === "/probe") {
      outgoing.end();
      return;
    }
    paths.push(path);
    held.push({ path, outgoing });
    arrivals.emit("held");
    if (isOpen) {
      answer();
    }
  });
  /** Resolves when that many requests have come in all. */
  const sent = async (count: number): Promise<void> => {
    while (paths.length < count) {
      await once(arrivals, "held");
    }
  };
  /** Resolves when all has come that was sent before. */
  const settle = async (): Promise<void> => {
    for (let probes = 0; probes < 5; probes++) {
      await (await fetch(new URL("/probe", url))).text();
    }
  };
  /** Answers the request that came first. Returns its path. */
  const answer = (status = 200, text = "[]", fields = {}): string => {
    const { path, outgoing } = held.shift() ?? assert.fail("no request is held");
    outgoing.writeHead(status, fields).end(text);
    return path;
  };
  /** From now on every request is answered, and those that are held. */
  const open = (): void => {
    isOpen = true;
    while (held.length > 0) {
      answer();
    }
  };
  const url = `http://127.0.0.1:${port}/v1`;
  const client = new AnimalStoreClient({ url, key: "as_key", ...options });
  return { client, pets: client.pets, held, paths, sent, settle, answer, open };
}

type Client = AnimalStoreClient;

const kinds: Readonly<Record<string, readonly [call: (client: Client) => Promise<unknown>, status: number, text: string]>> = {
  add: [(client) => client.pets.add({ name: "Rex", categoryId: 1 }), 201, rex],
  changeStatus: [(client) => client.pets.changeStatus(1, "available", { from: "available" }), 200, rex],
  get: [(client) => client.pets.get(1), 200, rex],
  list: [(client) => client.pets.list(), 200, "[]"],
  all: [(client) => client.pets.all().next(), 200, "[]"],
  limits: [(client) => client.limits(), 200, "{}"],
};

for (const [kind, [call, status, text]] of Object.entries(kinds)) {
  test(`of 100 calls of ${kind} at once never more than ${underWayMax} are under way, and all end`, async (context) => {
    const { client, held, sent, settle, answer } = await holding(context);
    const calls = Array.from({ length: 100 }, () => call(client));
    await sent(underWayMax);
    await settle();
    for (let answered = 0; answered < 100; answered++) {
      await sent(Math.min(100, answered + underWayMax));
      assert.equal(held.length, Math.min(underWayMax, 100 - answered));
      answer(status, text);
    }
    await Promise.all(calls);
  });
}

test("calls are sent in the order in which they were made", async (context) => {
  const { pets, sent, answer } = await holding(context);
  const calls = Array.from({ length: 80 }, (_, index) => pets.list({ after: index }));
  const paths: string[] = [];
  for (let answered = 0; answered < 80; answered++) {
    await sent(Math.min(80, answered + underWayMax));
    paths.push(answer());
  }
  await Promise.all(calls);
  // Those that begin together come over connections of their own, in any order.
  const later = paths.slice(underWayMax);
  assert.deepEqual(later, Array.from({ length: 80 - underWayMax }, (_, index) => `/v1/pets?after=${index + underWayMax}`));
});

test("a key is not banned although each request under way is refused in a second of its own", async (context) => {
  const { client, held, sent, settle } = await holding(context);
  const clock = new ManualClock();
  const { service, port } = await runningService(context, { clock });
  const { key } = await service.keys.create({ plan: "enterprise", perMinute: 1, perDay: 10 });
  const stop = new AbortController();
  const calls = Promise.allSettled(Array.from({ length: 100 }, () => client.pets.list({ signal: stop.signal })));
  await sent(underWayMax);
  await settle();
  for (let answered = 0; answered < held.length; answered++) {
    clock.advance(1_000); // The link is that slow.
    const headers = { Authorization: `Bearer ${key}` };
    const response = await fetch(`http://127.0.0.1:${port}/v1/pets`, { headers });
    held[answered]!.outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
    await settle();
  }
  const [, summary] = await service.keys.list();
  assert.equal(summary?.bannedUntil, null);
  assert.equal(held.length, underWayMax + 1);
  stop.abort();
  await calls;
});

test("calls that wait to send again are not under way", async (context) => {
  const { pets, sent, answer } = await holding(context);
  const stop = new AbortController();
  const failing = Array.from({ length: underWayMax }, () => pets.list({ signal: stop.signal }).catch((error: unknown) => error));
  await sent(underWayMax);
  for (let index = 0; index < underWayMax; index++) {
    answer(503, errorJson("storage_unavailable"), { "Retry-After": "60" });
  }
  const other = pets.list();
  await sent(underWayMax + 1);
  answer();
  await other;
  stop.abort("enough");
  assert.deepEqual(new Set(await Promise.all(failing)), new Set(["enough"]));
});

/** A client all of whose requests that may be under way are. */
async function fullClient(context: TestContext, options: Partial<ClientOptions> = {}) {
  const server = await holding(context, options);
  const first = Promise.allSettled(Array.from({ length: underWayMax }, () => server.pets.list()));
  await server.sent(underWayMax);
  return { ...server, first };
}

test("a call that is aborted leaves the queue at once, and the turn is the next one's", async (context) => {
  const { pets, first, sent, settle, answer, open, paths } = await fullClient(context);
  const stop = new AbortController();
  const reason = new Error("the customer left");
  const aborted = pets.list({ status: "sold", signal: stop.signal });
  const next = pets.list({ status: "pending" });
  stop.abort(reason);
  await assert.rejects(aborted, reason);
  await settle();
  assert.equal(paths.length, underWayMax);
  answer();
  await sent(underWayMax + 1);
  assert.equal(paths.at(-1), "/v1/pets?status=pending");
  open();
  await Promise.all([first, next]);
});

test("a turn is not lost with a call that is aborted in the moment in which it gets it", async (context) => {
  const response = { status: 200, ok: true, headers: new Headers(), text: async () => "[]" } as Response;
  for (let microtasks = 0; microtasks < 40; microtasks++) {
    const addresses: string[] = [];
    const answers: ((response: Response) => void)[] = [];
    const mocked = context.mock.method(globalThis, "fetch", (address: string, { signal }: { signal: AbortSignal }) => {
      signal.throwIfAborted();
      addresses.push(address);
      return new Promise((resolve, reject) => {
        answers.push(resolve);
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    });
    const { pets } = new AnimalStoreClient({ url: "http://127.0.0.1/v1", key: "as_key" });
    const stop = new AbortController();
    const calls = Array.from({ length: underWayMax }, () => pets.list());
    const aborted = pets.list({ signal: stop.signal });
    const next = pets.list({ status: "pending" });
    await new Promise(setImmediate);
    answers.shift()?.(response);
    for (let step = 0; step < microtasks; step++) {
      await undefined;
    }
    stop.abort("the customer left");
    await assert.rejects(aborted, (reason) => reason === "the customer left");
    await new Promise(setImmediate);
    assert.equal(addresses.at(-1), "http://127.0.0.1/v1/pets?status=pending", `aborted after ${microtasks} microtasks`);
    answers.forEach((answer) => answer(response));
    await Promise.all([...calls, next]);
    mocked.mock.restore();
  }
});

test("a call that waits for its turn fails at once when a pause begins that is longer than its time", async (context) => {
  const { pets, first, answer, open, paths } = await fullClient(context, { timeoutMs: 100_000 });
  const waiting = Promise.allSettled([pets.list(), pets.add({ name: "Rex", categoryId: 1 })]);
  answer(429, errorJson("rate_limited"), { "Retry-After": "3600" });
  for (const outcome of await waiting) {
    assert.ok(outcome.status === "rejected" && outcome.reason instanceof AnimalStoreError);
    assert.deepEqual([outcome.reason.code, outcome.reason.retryAfter], ["rate_limited", 3_600]);
  }
  assert.equal(paths.length, underWayMax);
  open();
  await first;
});

test("a request that was sent before a pause, and is served in it, does not end it", async (context) => {
  const { pets, sent, answer, paths } = await holding(context, { timeoutMs: 5_000 });
  const refused = pets.list().catch((error: AnimalStoreError) => error.code);
  const served = pets.list();
  await sent(2);
  answer(429, errorJson("rate_limited"), { "Retry-After": "100" });
  answer();
  await Promise.allSettled([refused, served]);
  await assert.rejects(pets.list(), { code: "rate_limited" });
  assert.equal(paths.length, 2);
});

test("a call whose time ends while it waits for its turn was not sent, and says so", async (context) => {
  const { pets, first, open, paths } = await fullClient(context);
  skipWaits(context);
  await assert.rejects(pets.list({ status: "sold" }), { code: "no_response", message: /^Not sent: 9 other calls/ });
  assert.equal(paths.length, underWayMax);
  open();
  await first;
  assert.deepEqual(await pets.list(), { pets: [], nextAfter: undefined });
});

test("a call that has been sent before has its last error when its time ends while it waits for its turn", async (context) => {
  const { pets, sent, answer, open } = await holding(context);
  let endWaits = (): void => undefined;
  skipWaits(context, undefined, new Promise((resolve) => (endWaits = resolve)));
  const early = pets.list({ status: "sold" });
  await sent(1);
  answer(503, errorJson("outcome_unknown"));
  const others = Promise.allSettled(Array.from({ length: underWayMax }, () => pets.list()));
  await sent(1 + underWayMax);
  endWaits();
  await assert.rejects(early, { code: "outcome_unknown" });
  open();
  await others;
});

test("any number of calls may have one signal, without a warning of Node", async (context) => {
  const warnings: Error[] = [];
  const warn = (warning: Error): void => void warnings.push(warning);
  process.on("warning", warn);
  context.after(() => process.off("warning", warn));
  const { pets, first, open } = await fullClient(context);
  const stop = new AbortController();
  const waiting = Promise.allSettled(Array.from({ length: 50 }, () => pets.list({ signal: stop.signal })));
  stop.abort("enough");
  const reasons = (await waiting).map((outcome) => outcome.status === "rejected" && outcome.reason);
  assert.deepEqual(new Set(reasons), new Set(["enough"]));
  open();
  await first;
  await new Promise(setImmediate);
  assert.deepEqual(warnings, []);
});
