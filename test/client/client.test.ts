/** What the client does about a service, a proxy and a network that fail, or ask it to wait. */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { inspect } from "node:util";

import { AnimalStoreClient, AnimalStoreError, type ClientOptions } from "../../src/client/client.ts";
import { type ErrorCode, errorJson } from "../../src/http/errors.ts";
import { one } from "../support/certificates.ts";
import { serve } from "../support/embedding-server.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { keyWithQuota, runningService } from "../support/running-service.ts";
import { skipWaits } from "../support/skip-waits.ts";

const key = "as_key";
const rex = '{"id":1,"name":"Rex","categoryId":1,"status":"available"}';
/** What a call makes of `rex` and the entity tag that comes with it. */
const rexThen = { id: 1, name: "Rex", categoryId: 1, status: "available", version: 7 } as const;

/** What a server does with a request: a response, a connection that breaks, or one on which nothing comes. */
type Step =
  | { readonly status: number; readonly text?: string; readonly fields?: Readonly<Record<string, string>> }
  | "break"
  | "break inside"
  | "hang";

interface Scripted {
  readonly url: string;
  readonly requests: {
    readonly method: string;
    readonly path: string;
    readonly once: unknown;
    readonly match: unknown;
    readonly content: string;
    readonly atMs: number;
  }[];
}

/** A server that does one step for each request, and the last one again and again. */
async function scripted(context: TestContext, ...steps: readonly Step[]): Promise<Scripted> {
  const requests: Scripted["requests"] = [];
  const port = await serve(context, (incoming, outgoing) => {
    const step = steps[Math.min(requests.length, steps.length - 1)] ?? "break";
    const { method = "", url: path = "", headers } = incoming;
    const atMs = performance.now();
    const chunks: Buffer[] = [];
    const received = { method, path, once: headers["idempotency-key"], match: headers["if-match"], content: "", atMs };
    requests.push(received);
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", () => {
      received.content = Buffer.concat(chunks).toString();
      if (step === "break") {
        incoming.socket.destroy();
      } else if (step === "break inside") {
        outgoing.writeHead(201, { "Content-Length": 100 }).write(rex.slice(0, 20), () => incoming.socket.destroy());
      } else if (step !== "hang") {
        outgoing.writeHead(step.status, { ...(step.text === undefined && { ETag: '"available-7"' }), ...step.fields }).end(step.text ?? rex);
      }
    });
  });
  return { url: `http://127.0.0.1:${port}/v1`, requests };
}

function failure(code: ErrorCode, status: number, fields: Readonly<Record<string, string>> = {}): Step {
  return { status, text: errorJson(code), fields };
}

const passing: Readonly<Record<string, Step>> = {
  "a broken connection": "break",
  "a response that breaks off": "break inside",
  "408": failure("request_timeout", 408, { Connection: "close" }),
  "429": failure("rate_limited", 429, { "Retry-After": "2" }),
  "500": failure("internal_error", 500),
  "a proxy's 502 in HTML": { status: 502, text: "<html><h1>502 Bad Gateway</h1></html>" },
  "503 with Retry-After": failure("storage_unavailable", 503, { "Retry-After": "1" }),
  "503 outcome_unknown": failure("outcome_unknown", 503),
  "599": { status: 599, text: "" },
};

for (const [name, step] of Object.entries(passing)) {
  test(`after ${name} the request is sent again, an add and a change with the same Idempotency-Key`, async (context) => {
    skipWaits(context);
    const server = await scripted(context, step, step, { status: 201 }, step, { status: 200 }, step, { status: 200, text: "[]" });
    const { pets } = new AnimalStoreClient({ url: server.url, key });
    assert.deepEqual(await pets.add({ name: "Rex", categoryId: 1 }), rexThen);
    assert.deepEqual(await pets.changeStatus(1, "available", { from: "sold" }), rexThen);
    assert.deepEqual(await pets.list(), { pets: [], nextAfter: undefined });
    assert.deepEqual(server.requests.map(({ method }) => method), ["POST", "POST", "POST", "PATCH", "PATCH", "GET", "GET"]);
    const [add, ...others] = server.requests.map((request) => request.once);
    assert.ok(typeof add === "string" && typeof others[2] === "string" && add !== others[2]);
    assert.deepEqual(others, [add, add, others[2], others[2], undefined, undefined]);
  });
}

test("other errors are not sent again", async (context) => {
  for (const code of ["invalid_body", "invalid_api_key", "insufficient_scope", "pet_not_found", "idempotency_key_reused"] as const) {
    const server = await scripted(context, failure(code, 400, { "X-Request-Id": "r1" }));
    const { pets } = new AnimalStoreClient({ url: server.url, key });
    await assert.rejects(pets.add({ name: "Rex", categoryId: 1 }), { name: "AnimalStoreError", code, requestId: "r1" });
    assert.equal(server.requests.length, 1);
  }
});

test("a request is sent ten times at most, or as often as triesMax says, with waits that grow", async (context) => {
  const waitsMs: number[] = [];
  skipWaits(context, (ms) => waitsMs.push(ms));
  for (const triesMax of [undefined, 3]) {
    waitsMs.length = 0;
    const server = await scripted(context, failure("internal_error", 500));
    await assert.rejects(new AnimalStoreClient({ url: server.url, key, triesMax }).pets.list(), { code: "internal_error", status: 500 });
    assert.equal(server.requests.length, triesMax ?? 10);
    assert.equal(waitsMs.length, server.requests.length - 1);
    assert.ok(waitsMs.every((ms, index) => ms <= 10_000 && ms <= 200 * 2 ** index && ms > 50 * 2 ** Math.min(index, 6)), String(waitsMs));
  }
});

for (const form of ["seconds", "a date"]) {
  test(`after Retry-After in ${form} no call of the client sends anything before it has passed`, async (context) => {
    let skippedMs = 0;
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const begun = skipWaits(context, (ms) => (skippedMs += ms), gate);
    const retryAfter = form === "seconds" ? "30" : new Date(Date.now() + 31_000).toUTCString();
    const server = await scripted(context, failure("rate_limited", 429, { "Retry-After": retryAfter }), { status: 200, text: "[]" });
    const { pets } = new AnimalStoreClient({ url: server.url, key });
    const first = pets.list();
    await begun;
    const others = [pets.list(), pets.list({ status: "sold" })];
    await fetch(server.url); // What they had sent at once would have come before.
    assert.equal(server.requests.length, 2);
    open();
    await Promise.all([first, ...others]);
    const [refusedMs = 0, , ...later] = server.requests.map(({ atMs }) => atMs);
    assert.equal(later.length, 3);
    assert.ok(later.every((atMs) => atMs - refusedMs >= 29_500), String(later)); // A date has no fractions.
    assert.ok(skippedMs < 33_000, String(skippedMs));
  });
}

test("a wait that would be longer than what is left fails at once, with the error and its retryAfter", async (context) => {
  const server = await scripted(context, failure("key_banned", 429, { "Retry-After": "300" }));
  const { pets } = new AnimalStoreClient({ url: server.url, key });
  const check = (error: unknown): boolean => {
    assert.ok(error instanceof AnimalStoreError);
    assert.deepEqual([error.code, error.status], ["key_banned", 429]);
    assert.equal(error.retryAfter, 300);
    return true;
  };
  await assert.rejects(pets.list(), check);
  await assert.rejects(pets.add({ name: "Rex", categoryId: 1 }), check);
  assert.equal(server.requests.length, 1);
});

test("no wait is longer than a day, and only a response that is worth another try makes other calls wait", async (context) => {
  const waitsMs: number[] = [];
  skipWaits(context, (ms) => waitsMs.push(ms));
  const server = await scripted(context, failure("key_banned", 429, { "Retry-After": "2592000" }), { status: 200, text: "[]" });
  await new AnimalStoreClient({ url: server.url, key, timeoutMs: Infinity }).pets.list();
  const waitedMs = waitsMs.reduce((sum, ms) => sum + ms, 0);
  assert.ok(waitedMs > 86_390_000 && waitedMs < 86_401_000, String(waitedMs));
  const refused = await scripted(context, failure("pet_not_found", 404, { "Retry-After": "60" }), { status: 200, text: "[]" });
  const { pets } = new AnimalStoreClient({ url: refused.url, key });
  await assert.rejects(pets.get(1), { code: "pet_not_found" });
  const before = waitsMs.length;
  await pets.list();
  assert.equal(waitsMs.length, before);
});

test("a 5xx makes only its own call wait", async (context) => {
  const server = await scripted(context, failure("storage_unavailable", 503, { "Retry-After": "3600" }), { status: 200, text: "[]" });
  const { pets } = new AnimalStoreClient({ url: server.url, key });
  await assert.rejects(pets.list(), { code: "storage_unavailable", retryAfter: 3_600 });
  assert.deepEqual(await pets.list(), { pets: [], nextAfter: undefined });
});

test("retryAfter is what was said, to the caller that asks later what is left of it", async (context) => {
  let laterMs = 0;
  const startMs = 3_000.001; // 29,100 later, and 7,000 more, are 7,000.000000000004 apart.
  context.mock.method(performance, "now", () => startMs + laterMs);
  const date = { Date: new Date(3_600_000).toUTCString(), "Retry-After": new Date(3_607_000).toUTCString() };
  const year = { "Retry-After": "31536000" };
  for (const [fields, first, later] of [[year, 31_536_000, undefined], [{ "Retry-After": "300" }, 300, 271], [date, 7, 7]] as const) {
    for (const status of [429, 503]) {
      const server = await scripted(context, failure(status === 429 ? "rate_limited" : "storage_unavailable", status, fields));
      const { pets } = new AnimalStoreClient({ url: server.url, key, timeoutMs: 2_000 });
      await assert.rejects(pets.list(), { status, retryAfter: first });
      if (status === 429 && later !== undefined) {
        laterMs += first - later === 0 ? 0 : 29_100;
        await assert.rejects(pets.list(), { status, retryAfter: later });
      }
    }
  }
});

const past = new Date(Date.now() - 3_600_000).toUTCString();

test("waits grow although Retry-After is 0, or after a 5xx negative, past, or no time at all", async (context) => {
  const waitsMs: number[] = [];
  skipWaits(context, (ms) => waitsMs.push(ms));
  for (const retryAfter of ["0", "0.2", "-5", past, "soon", ""]) {
    for (const [code, status] of [["rate_limited", 429], ["storage_unavailable", 503]] as const) {
      if (status === 429 && !retryAfter.startsWith("0")) {
        continue;
      }
      waitsMs.length = 0;
      const server = await scripted(context, failure(code, status, { "Retry-After": retryAfter }));
      await assert.rejects(new AnimalStoreClient({ url: server.url, key, triesMax: 6 }).pets.list(), { code });
      const shown = `${status}, "${retryAfter}": ${String(waitsMs)}`;
      assert.ok(waitsMs.length >= 5 && waitsMs.reduce((sum, ms) => sum + ms, 0) > 3_000, shown);
    }
  }
});

for (const retryAfter of [undefined, "-5", past, "soon", ""]) {
  test(`a 429 with Retry-After ${retryAfter} is a pause of 60 s, then of three times what it has lasted, and never a ban`, async (context) => {
    const waitsMs: number[] = [];
    skipWaits(context, (ms) => waitsMs.push(ms));
    const fields: Record<string, string> = retryAfter === undefined ? {} : { "Retry-After": retryAfter };
    const server = await scripted(context, failure("rate_limited", 429, fields));
    const { pets } = new AnimalStoreClient({ url: server.url, key, triesMax: 2, timeoutMs: Infinity });
    for (let calls = 0; calls < 4; calls++) {
      await assert.rejects(pets.list(), { code: "rate_limited", retryAfter: undefined });
    }
    const atMinutes = server.requests.map(({ atMs }) => (atMs - server.requests[0]!.atMs) / 60_000);
    // A used-up day is over by the eighth, and ten refusals are a ban. No wait is longer than a day.
    const expected = [0, 1, 4, 16, 64, 256, 1_024, 1_024 + 24 * 60];
    assert.deepEqual(atMinutes.map(Math.round), expected);
  });
}

/** A service and a client with a day that is used up, both by a clock that only the test moves. */
async function usedUpDay(context: TestContext, calls: number) {
  const clock = new ManualClock();
  const { now } = performance;
  const atMs = clock.monotonicMs();
  const startMs = Math.ceil(now.call(performance)); // Sums of whole numbers are exact.
  context.mock.method(performance, "now", () => startMs + clock.monotonicMs() - atMs);
  const { service, port } = await runningService(context, { clock });
  const { id, key: own } = await service.keys.create({ plan: "enterprise", perMinute: 100, perDay: 2 });
  const { pets } = new AnimalStoreClient({ url: `http://127.0.0.1:${port}/v1`, key: own, timeoutMs: 5_000 });
  await pets.list();
  await pets.list();
  const sentMinutes: number[] = [];
  const { fetch } = globalThis;
  context.mock.method(globalThis, "fetch", (...sent: Parameters<typeof fetch>) => {
    sentMinutes.push((clock.monotonicMs() - atMs) / 60_000);
    return fetch(...sent);
  });
  await Promise.allSettled(Array.from({ length: calls }, () => pets.list()));
  const isBanned = async (): Promise<boolean> => (await service.keys.list()).some((one) => one.id === id && one.bannedUntil !== null);
  return { clock, pets, sentMinutes, isBanned };
}

for (const calls of [1, 9]) {
  test(`in a used-up day, seen by ${calls} at once, nothing is sent before it has ended, and nobody is banned`, async (context) => {
    const { clock, pets, sentMinutes, isBanned } = await usedUpDay(context, calls);
    for (let halfMinute = 1; halfMinute < 2 * 24 * 60; halfMinute++) {
      clock.advance(30_000);
      await assert.rejects(pets.list(), { code: "rate_limited", retryAfter: 24 * 3_600 - 30 * halfMinute });
    }
    assert.deepEqual(sentMinutes, Array.from({ length: calls }, () => 0));
    clock.advance(31_000);
    assert.deepEqual(await pets.list(), { pets: [], nextAfter: undefined });
    assert.equal(await isBanned(), false);
  });
}

test("a request that is served after a pause ends it: the next one without Retry-After is a minute again", async (context) => {
  const waitsMs: number[] = [];
  skipWaits(context, (ms) => waitsMs.push(ms));
  const hidden = failure("rate_limited", 429);
  const server = await scripted(context, hidden, hidden, { status: 200, text: "[]" }, hidden, { status: 200, text: "[]" });
  const { pets } = new AnimalStoreClient({ url: server.url, key, timeoutMs: Infinity });
  await pets.list(); // A pause of one minute, and of three.
  await pets.list(); // A pause of its own, of one minute.
  assert.deepEqual(waitsMs.map((ms) => Math.round(ms / 60_000)).filter((minutes) => minutes > 0), [1, 3, 1]);
});

/** What fetch rejects with, in Node, Bun and Deno. */
const refused: Readonly<Record<string, readonly [cause: unknown, tries: number, triesAfterResponse: number]>> = {
  "a certificate, in Node": [coded("DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate"), 1, 1],
  "a certificate of another host": [coded("ERR_TLS_CERT_ALTNAME_INVALID", "Hostname/IP does not match certificate's altnames"), 1, 1],
  "a certificate without its intermediate": [coded("UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unable to verify the first certificate"), 1, 1],
  "a certificate, in Deno": [new Error("client error (Connect): invalid peer certificate: UnknownIssuer"), 1, 1],
  "a port, in Node": [new Error("bad port"), 1, 1],
  "a port, in Deno": [new Error("Requests to port 6000 are blocked"), 1, 1],
  "an unknown name": [coded("ENOTFOUND", "getaddrinfo ENOTFOUND h.example"), 1, 10],
  "an unknown name, in Deno": [new Error("dns error: failed to lookup address information: Name or service not known"), 1, 10],
  "a name that is unknown for now": [coded("EAI_AGAIN", "getaddrinfo EAI_AGAIN certificate.example"), 10, 10],
  "a refused connection": [coded("ECONNREFUSED", "connect ECONNREFUSED"), 10, 10],
  "nothing that is known, as in a browser": [undefined, 10, 10],
};

function coded(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

for (const [name, [cause, tries, triesAfterResponse]] of Object.entries(refused)) {
  test(`what no retry mends is not retried, and the message has the reason: ${name}`, async (context) => {
    skipWaits(context);
    let sent = 0;
    let isAnswering = false;
    context.mock.method(globalThis, "fetch", async () => {
      sent++;
      if (isAnswering) {
        return new Response("[]");
      }
      throw new TypeError("fetch failed", { cause });
    });
    const { pets } = new AnimalStoreClient({ url: "http://h.example/v1", key });
    const reason = cause instanceof Error ? cause.message : "fetch failed";
    for (const expected of [tries, triesAfterResponse]) {
      sent = 0;
      await assert.rejects(pets.list(), (error: Error) => (error as AnimalStoreError).code === "no_response" && error.message.endsWith(reason));
      assert.equal(sent, expected);
      isAnswering = true;
      await pets.list();
      isAnswering = false;
    }
  });
}

const replay: Step = { status: 201, fields: { "Idempotent-Replayed": "true" } };
const none = undefined;
/** What was tried before the response came, the key of the call, and whether it is told that the response is a replay. */
const replays: readonly (readonly [before: readonly (Step | "refuse")[], idempotencyKey: string | undefined, isReplay: boolean])[] = [
  [[], "order-1", true],
  [[failure("rate_limited", 429, { "Retry-After": "1" })], "order-1", true],
  [["refuse"], "order-1", true],
  [["refuse", failure("rate_limited", 429)], "order-1", true],
  [["break"], "order-1", false],
  [["break inside"], "order-1", false],
  [[failure("request_timeout", 408)], "order-1", false],
  [[failure("outcome_unknown", 503)], "order-1", false],
  [[{ status: 502, text: "<html>" }], "order-1", false],
  [["break", failure("rate_limited", 429)], "order-1", false],
  [[], none, false],
  [[failure("rate_limited", 429)], none, false],
  [["break"], none, false],
];

for (const [before, idempotencyKey, isReplay] of replays) {
  const tried = before.map((step) => (typeof step === "string" ? step : step.status)).join(", ") || "nothing";
  test(`a replay after ${tried}, with ${idempotencyKey ?? "a key of the client's own"}: isReplay is ${isReplay}`, async (context) => {
    skipWaits(context);
    const { fetch } = globalThis;
    const left = before.filter((step) => step === "refuse");
    context.mock.method(globalThis, "fetch", (...sent: Parameters<typeof fetch>) => {
      const cause = coded("ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:1");
      return left.pop() === undefined ? fetch(...sent) : Promise.reject(new TypeError("fetch failed", { cause }));
    });
    const steps = before.filter((step) => step !== "refuse");
    const server = await scripted(context, ...steps, replay, { status: 201 });
    const { pets } = new AnimalStoreClient({ url: server.url, key });
    const pet = await pets.add({ name: "Rex", categoryId: 1 }, { idempotencyKey });
    assert.deepEqual(pet, { ...rexThen, ...(isReplay && { isReplay }) });
    assert.ok(!("isReplay" in (await pets.add({ name: "Rex", categoryId: 1 }, { idempotencyKey: "order-2" }))));
  });
}

/**
 * How many animals there are, how many a page has, whether its fields can be read, and after which ids pages begin. The
 * last page has no `Link`: where it is full, the client cannot know, and asks for one more.
 */
const pages: readonly (readonly [count: number, limit: number | undefined, fields: string, afters: readonly number[]])[] = [
  [45, undefined, "hidden", [0, 20, 40]],
  [40, undefined, "hidden", [0, 20, 40]],
  [40, undefined, "shown", [0, 20, 40]],
  [250, 100, "hidden", [0, 100, 200]],
  [205, 100, "shown", [0, 100, 200]],
  [0, 1, "hidden", [0]],
  [3, 1, "hidden", [0, 1, 2, 3]],
  [3, 1, "shown", [0, 1, 2, 3]],
  [3, 1, "another's", [0]],
];

for (const [count, limit, fields, afters] of pages) {
  test(`${count} animals, ${limit ?? 20} on a page, Link is ${fields}: pages begin after ${String(afters)}`, async (context) => {
    const seen: number[] = [];
    context.mock.method(globalThis, "fetch", async (address: string) => {
      const { searchParams } = new URL(address);
      const after = Number(searchParams.get("after") ?? 0);
      const size = Number(searchParams.get("limit") ?? 20);
      seen.push(after);
      const ids = Array.from({ length: Math.min(size, count - after) }, (_, index) => after + index + 1);
      const link = after + size < count ? `</v1/pets?limit=${size}&after=${after + size}>; rel="next"` : "";
      const shown = fields === "another's" ? "<https://example.com/>; rel=preload" : link;
      const text = `[${ids.map((id) => rex.replace('"id":1', `"id":${id}`)).join()}]`;
      return new Response(text, { headers: fields === "hidden" || shown === "" ? {} : { Link: shown } });
    });
    const { pets } = new AnimalStoreClient({ url: "http://127.0.0.1/v1", key });
    const ids: number[] = [];
    for (let next: number | undefined = 0; next !== undefined; ) {
      const page = await pets.list({ limit, after: next });
      ids.push(...page.pets.map(({ id }) => id));
      next = page.nextAfter;
    }
    assert.deepEqual(seen, afters);
    assert.deepEqual(ids, Array.from({ length: fields === "another's" ? 1 : count }, (_, index) => index + 1));
  });
}

test("a self-signed certificate, a port that fetch refuses and one without TLS fail at once, in one line", async (context) => {
  const { port } = await runningService(context, { certificate: one });
  const { port: plain } = await runningService(context);
  const started = performance.now();
  const { pets } = new AnimalStoreClient({ url: `https://127.0.0.1:${port}/v1`, key });
  await assert.rejects(pets.list(), { code: "no_response", message: /self-signed/ });
  await assert.rejects(new AnimalStoreClient({ url: "http://127.0.0.1:6000/v1", key }).limits(), { message: /bad port/ });
  const url = `https://127.0.0.1:${plain}/v1`;
  await assert.rejects(new AnimalStoreClient({ url, key }).limits(), { message: `No response of ${url}: wrong version number` });
  assert.ok(performance.now() - started < 10_000); // Ten tries take 20 s and more.
});

test("a call ends when its time is over, with the last error, or without a response", async (context) => {
  const started = performance.now();
  const hanging = await scripted(context, "hang");
  const { pets } = new AnimalStoreClient({ url: hanging.url, key, timeoutMs: 300 });
  await assert.rejects(pets.list(), { code: "no_response" });
  assert.ok(performance.now() - started < 30_000);
  skipWaits(context);
  const failing = await scripted(context, failure("internal_error", 500, { "Retry-After": "20" }));
  // The second request is sent after 20 s, and a third would be too late: so no time ends while a response is awaited.
  await assert.rejects(new AnimalStoreClient({ url: failing.url, key, timeoutMs: 40_000 }).pets.list(), { code: "internal_error" });
  assert.equal(failing.requests.length, 2);
});

test("a signal ends a call that waits for a response, and one that waits to send again", async (context) => {
  for (const step of ["hang", failure("rate_limited", 429, { "Retry-After": "100" })] as const) {
    const server = await scripted(context, step);
    const controller = new AbortController();
    const reason = new Error("the customer left");
    const call = new AnimalStoreClient({ url: server.url, key }).pets.list({ signal: controller.signal });
    while (server.requests.length === 0) {
      await new Promise(setImmediate);
    }
    setImmediate(() => controller.abort(reason));
    await assert.rejects(call, reason);
    assert.equal(server.requests.length, 1);
  }
});

test("a call whose signal was aborted before does not wait until others may send", async (context) => {
  const gate = new Promise<void>(() => undefined); // No wait ends.
  const begun = skipWaits(context, undefined, gate);
  const server = await scripted(context, failure("rate_limited", 429, { "Retry-After": "30" }));
  const { pets } = new AnimalStoreClient({ url: server.url, key });
  const controller = new AbortController();
  const first = pets.list({ signal: controller.signal });
  await begun;
  const reason = new Error("the customer left");
  const late = new Promise((resolve) => setTimeout(resolve, 1_000, "late").unref());
  const aborted = pets.list({ signal: AbortSignal.abort(reason) }).catch((error: unknown) => error);
  assert.equal(await Promise.race([aborted, late]), reason);
  controller.abort(reason);
  await assert.rejects(first, reason);
  assert.equal(server.requests.length, 1);
});

test("JSON of another shape is read exactly too, or refused, but never rounded", async (context) => {
  const exact = { id: 1, name: '"categoryId":5', categoryId: 9223372036854775807n, status: "sold" };
  const shapes = [
    '{ "id": 1, "name": "\\"categoryId\\":5", "categoryId": 9223372036854775807, "status": "sold" }',
    '{"categoryId"\n:\n9223372036854775807 ,"status":"sold","name":"\\u0022categoryId\\u0022:5","id":1}',
    '{"id":1,"name":"\\"categoryId\\":5","status":"sold","categoryId":9223372036854775807}',
    '{"id":1,"name":"\\"categoryId\\":5","status":"sold","category\\u0049d":9223372036854775807}',
  ];
  for (const text of shapes) {
    const server = await scripted(context, { status: 201, text });
    const added = await new AnimalStoreClient({ url: server.url, key }).pets.add({ name: "Rex", categoryId: 1 });
    assert.deepEqual(added, { ...exact, version: undefined });
  }
  for (const text of [rex.replace("categoryId", "category\\u0049d"), rex.replace('"categoryId":1', '"categoryId":1e0')]) {
    const server = await scripted(context, { status: 201, text });
    assert.equal((await new AnimalStoreClient({ url: server.url, key }).pets.add({ name: "Rex", categoryId: 1 })).categoryId, 1);
  }
  const lossy = ['"categoryId":9.2e18', '"categoryId":1.5', '"categoryId":null'];
  for (const member of lossy) {
    const server = await scripted(context, { status: 201, text: rex.replace('"categoryId":1', member) });
    const { pets } = new AnimalStoreClient({ url: server.url, key });
    await assert.rejects(pets.add({ name: "Rex", categoryId: 1 }), { code: "unexpected_response", status: 201 });
  }
});

test("what is no response of the service says so, and the key goes to no other address", async (context) => {
  const elsewhere = await scripted(context, { status: 200, text: "[]" });
  const steps: readonly Step[] = [
    { status: 200, text: "<html>captive portal" },
    { status: 200, text: '{"pets":[]}' },
    { status: 404, text: '{"message":"no Route matched with those values"}' },
    { status: 200, text: '{"code":"x","message":"a "wrong" quotation","status":200}' },
    { status: 400, text: '{"code":"x","message":"a "wrong" quotation","status":400}' },
    { status: 400, text: `{"code":"x","message":"${"a".repeat(32_000_000)}","status":400}` },
    { status: 301, text: "", fields: { Location: `${elsewhere.url}/pets` } },
    { status: 308, text: "", fields: { Location: `${elsewhere.url}/pets` } },
  ];
  for (const step of steps) {
    const server = await scripted(context, step);
    await assert.rejects(new AnimalStoreClient({ url: server.url, key }).pets.list(), { code: "unexpected_response" });
    assert.equal(server.requests.length, 1);
  }
  assert.deepEqual(elsewhere.requests, []);
});

test("no call takes a page that something in between shows for a success", async (context) => {
  const calls: readonly ((client: AnimalStoreClient) => Promise<unknown>)[] = [
    ({ pets }) => pets.add({ name: "Rex", categoryId: 1 }),
    ({ pets }) => pets.get(1),
    ({ pets }) => pets.list(),
    ({ pets }) => pets.changeStatus(1, "sold", { from: "available" }),
    ({ pets }) => pets.remove(1, { from: "available" }),
    (client) => client.limits(),
  ];
  for (const text of ["<html>log in to the network", ""]) {
    const server = await scripted(context, { status: 200, text });
    for (const call of calls) {
      const client = new AnimalStoreClient({ url: server.url, key });
      await assert.rejects(call(client), { code: "unexpected_response", status: 200 }, String(call));
    }
    assert.equal(server.requests.length, calls.length);
  }
});

/** What something in between makes of an entity tag, and the status and version in it. */
const tags: readonly (readonly [tag: string | undefined, status: string | undefined, version: number | undefined])[] = [
  ['"sold-7"', "sold", 7],
  ['W/"sold-7"', "sold", 7],
  ['"sold-7-gzip"', "sold", 7],
  ['W/"sold-7;br"', "sold", 7],
  ['"pending-2147483647"', "pending", 2_147_483_647],
  ['"sold"', "sold", undefined],
  ['"sold-gzip"', "sold", undefined],
  ['"5d8c72a5edda8d6a"', undefined, undefined],
  ['"abc-7"', undefined, undefined],
  [undefined, undefined, undefined],
];

for (const [tag, status, version] of tags) {
  test(`the ETag ${tag} of a 412 says ${status} and ${version}, and so does that of an animal`, async (context) => {
    const fields: Record<string, string> = tag === undefined ? {} : { ETag: tag };
    const server = await scripted(context, failure("precondition_failed", 412, fields), { status: 200, text: rex, fields });
    const { pets } = new AnimalStoreClient({ url: server.url, key });
    const change = pets.changeStatus(1, "pending", { from: "available" });
    await assert.rejects(change, { code: "precondition_failed", petStatus: status, petVersion: version });
    const pet = await pets.get(1);
    assert.deepEqual(pet, { ...rexThen, version });
    if (version === undefined) {
      await assert.rejects(pets.changeStatus(1, "sold", { from: pet }), { name: "RangeError", message: /must have its version/ });
    }
  });
}

test("the address may be a URL, and what is checked is what is used", async (context) => {
  const server = await scripted(context, { status: 200, text: "[]" });
  const changing = new URL(server.url);
  const clients = [server.url, `${server.url}/`, ` ${server.url}\t`, new URL(server.url), changing].map((url) => new AnimalStoreClient({ url, key }));
  changing.pathname = "/another";
  for (const { pets } of clients) {
    await pets.list();
    assert.equal(server.requests.at(-1)?.path.replace(/\?$/, ""), "/v1/pets"); // Newer releases of Node keep an empty query.
  }
  for (const wrong of ["ftp://h/v1", "http://me:secret@h/v1", "http://h/v1?x=1", "http://h/v1#x"]) {
    assert.throws(() => new AnimalStoreClient({ url: new URL(wrong), key }), (error: Error) => {
      return error instanceof TypeError && !inspect(error).includes("secret");
    });
  }
});

test("an error of the client's own, or of a function in place of fetch, is not tried again", async (context) => {
  const error = new TypeError("url.replace is not a function");
  const fail = (): never => {
    throw error;
  };
  for (const [object, name] of [[globalThis, "fetch"], [AbortSignal, "timeout"]] as const) {
    const mocked = context.mock.method(object as typeof globalThis, name as "fetch", fail);
    await assert.rejects(new AnimalStoreClient({ url: "http://127.0.0.1/v1", key }).pets.list(), error);
    assert.equal(mocked.mock.callCount(), 1);
    mocked.mock.restore();
  }
});

test("no framework keeps a response: cache is no-store, but where Request does not know it nothing is said", async (context) => {
  const caches: unknown[] = [];
  const known = Object.getOwnPropertyDescriptor(Request.prototype, "cache")!; // Node has it.
  context.after(() => Object.defineProperty(Request.prototype, "cache", known));
  context.mock.method(globalThis, "fetch", async (_: string, init: RequestInit & { cache?: string }) => {
    caches.push(init.cache);
    return new Response("[]");
  });
  const { pets } = new AnimalStoreClient({ url: "http://127.0.0.1/v1", key });
  await pets.list();
  Reflect.deleteProperty(Request.prototype, "cache");
  await pets.list();
  assert.deepEqual(caches, ["no-store", undefined]);
});

const { fetch: nodeFetch } = globalThis;

const replacements: Readonly<Record<string, typeof fetch>> = {
  "a wrapper that reads the address as a text": (input, init) => nodeFetch(new URL(String(input)), init),
  "a wrapper that adds a field": (input, init) => nodeFetch(input, { ...init, headers: { ...init?.headers, "X-Trace": "1" } }),
  "a function that knows no Request of this realm": (input, init) => {
    return typeof input === "string" ? nodeFetch(input, init) : Promise.reject(new TypeError("Failed to parse URL from [object Request]"));
  },
};

for (const [name, replacement] of Object.entries(replacements)) {
  test(`the client works where fetch was replaced by ${name}`, async (context) => {
    const { port, key: own } = await runningService(context);
    context.mock.method(globalThis, "fetch", replacement);
    const { pets } = new AnimalStoreClient({ url: `http://127.0.0.1:${port}/v1`, key: own, timeoutMs: 3_000 });
    assert.equal((await pets.add({ name: "Rex", categoryId: 1 })).id, 1);
    assert.equal((await pets.changeStatus(1, "sold", { from: "available" })).status, "sold");
    assert.equal((await pets.list()).pets.length, 1);
  });
}

test("a wrong argument is refused before anything is sent", async (context) => {
  const server = await scripted(context, { status: 200 });
  const { pets } = new AnimalStoreClient({ url: server.url, key, timeoutMs: null as unknown as undefined });
  await assert.rejects(pets.add({ name: "Rex", categoryId: "" as unknown as number }), RangeError);
  await assert.rejects(pets.get("1" as unknown as number), RangeError);
  await assert.rejects(pets.changeStatus(1, "sold", { from: undefined as unknown as "sold" }), RangeError);
  for (const wrong of ["", Number.NaN, {}, 0, -1] as unknown as number[]) {
    assert.throws(() => new AnimalStoreClient({ url: server.url, key, timeoutMs: wrong }), RangeError);
    assert.throws(() => new AnimalStoreClient({ url: server.url, key, triesMax: wrong }), RangeError);
  }
  assert.deepEqual(server.requests, []);
});

test("a wrong address or key fails at once, and no error shows the key, or a password of the address", async () => {
  for (const wrong of ["", "as_", "as_a\n", undefined as unknown as string]) {
    assert.throws(() => new AnimalStoreClient({ url: "http://127.0.0.1/v1", key: wrong }), TypeError);
  }
  for (const wrong of [`${key}\n`, ` ${key}`, `${key}\r\n`, `\u00a0${key}`]) {
    assert.throws(() => new AnimalStoreClient({ url: "http://127.0.0.1/v1", key: wrong }), /no white space around it$/);
  }
  assert.throws(() => new AnimalStoreClient({ url: "http://127.0.0.1/v1", key: "secret" }), /begins with as_$/);
  assert.throws(() => new AnimalStoreClient({ url: "http://127.0.0.1/v1", key, timeout: 5 } as ClientOptions), {
    ...{ name: "RangeError", message: 'an option must be one of url, key, timeoutMs, triesMax, received "timeout"' },
  });
  const wrongs = ["", "127.0.0.1/v1", "localhost:3000/v1", "ftp://localhost/v1", "http://h/v1?x=1", "http://h/v1#x", "http://h/v1?"];
  for (const wrong of [...wrongs, undefined as unknown as string]) {
    assert.throws(() => new AnimalStoreClient({ url: wrong, key }), (error: Error) => {
      return error instanceof TypeError && error.message.includes(String(wrong)) && !error.message.includes(key);
    });
  }
  for (const wrong of ["http://me:secret@h/v1", "http://secret@h/v1", "me:secret@h/v1", "http://me:sec/ret@h/v1", "ftp://me:secret@h"]) {
    assert.throws(() => new AnimalStoreClient({ url: wrong, key }), (error: Error) => {
      return error instanceof TypeError && !/sec|ret@/.test(inspect(error));
    });
  }
  for (const wrong of [{ url: key, key: "http://h/v1" }, { url: `http://h/v1?key=${key}`, key }, { url: "http://h/v1", key: `${key}\n` }]) {
    assert.throws(() => new AnimalStoreClient(wrong), (error: Error) => error instanceof TypeError && !inspect(error).includes(key));
  }
  new AnimalStoreClient({ url: "http://[::1]:3000/shop@home/v1", key });
});

test("no error shows the key, whatever a proxy shows of the request", async (context) => {
  const own = `as_${"A1b2".repeat(11)}`.slice(0, 46);
  const echo = (text: string, status = 400, fields = {}): Step => ({ status, text, fields });
  for (const step of [
    echo(`Authorization: Bearer ${own}`),
    echo(`${"x".repeat(180)} ${own}`),
    echo(`{"header":"Bearer%20${own}"}`, 404),
    echo(`{"code":"x","message":"Bearer ${own}","status":400}`),
    echo(own, 200),
    echo("", 502, { "X-Request-Id": own }),
  ]) {
    const server = await scripted(context, step);
    const { pets } = new AnimalStoreClient({ url: server.url, key: own, triesMax: 1 });
    const error: unknown = await pets.list().catch((reason: unknown) => reason);
    assert.ok(error instanceof AnimalStoreError);
    assert.ok(!inspect(error).includes(own.slice(0, 12)), inspect(error));
  }
  const { pets } = new AnimalStoreClient({ url: "http://127.0.0.1/v1", key: own });
  await assert.rejects(pets.get(own as unknown as number), (error: Error) => !error.message.includes(own));
});

test("each error that had a response has its requestId", async (context) => {
  const { port, key: own } = await runningService(context);
  const { pets } = new AnimalStoreClient({ url: `http://127.0.0.1:${port}/v1`, key: own });
  for (const call of [pets.get(1), pets.list({ limit: 0 }), pets.changeStatus(1, "sold", { from: "sold" })]) {
    const error: unknown = await call.catch((reason: unknown) => reason);
    assert.match((error as AnimalStoreError).requestId ?? "", /^\S+$/);
  }
});

test("limits() has the plan, whether the key is read-only, and both windows", async (context) => {
  const { service, port } = await runningService(context);
  const { key: free } = await service.keys.create({ plan: "free", readOnly: true });
  const { plan, readOnly, minute, day } = await new AnimalStoreClient({ url: `http://127.0.0.1:${port}/v1`, key: free }).limits();
  assert.deepEqual([plan, readOnly, minute.limit, minute.remaining], ["free", true, 60, 59]);
  assert.deepEqual([day.limit, day.remaining], [1_000, 999]);
  assert.ok(Number.isInteger(minute.reset) && day.reset > minute.reset);
});

test("200 adds over used-up minutes: exactly 200 animals, and no ban", async (context) => {
  const clock = new ManualClock();
  const running = await runningService(context, { clock });
  const own = await keyWithQuota(running, 60);
  skipWaits(context, (ms) => clock.advance(ms));
  // A call could wait for two of these minutes, because they pass at once, while its response is on its way.
  const { pets } = new AnimalStoreClient({ url: `http://127.0.0.1:${running.port}/v1`, key: own, timeoutMs: 600_000 });
  const queue = Array.from({ length: 200 }, (_, index) => index);
  const worker = async (): Promise<void> => {
    for (let index = queue.pop(); index !== undefined; index = queue.pop()) {
      await pets.add({ name: `Rex ${index}`, categoryId: index });
    }
  };
  await Promise.all(Array.from({ length: 9 }, worker));
  const names: string[] = [];
  for await (const { name } of running.service.pets.all()) {
    names.push(name);
  }
  assert.deepEqual([names.length, new Set(names).size], [200, 200]);
  const summaries = await running.service.keys.list();
  assert.deepEqual(summaries.filter(({ bannedUntil }) => bannedUntil !== null), []);
  assert.ok(clock.monotonicMs() > 120_000);
});
