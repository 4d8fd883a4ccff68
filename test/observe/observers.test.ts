/**
 * What an operator sees of requests: log lines and metrics (`--log` and `--metrics-port`).
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { openAnimalStore } from "../../src/index.ts";
import { family } from "../../src/observe/metrics.ts";
import { Observers } from "../../src/observe/observers.ts";
import { serve } from "../support/embedding-server.ts";
import { GatedStore } from "../support/gated-store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { root } from "../support/root.ts";
import { keyWithQuota, type RunningService, runningService, type Start } from "../support/running-service.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

const connectionEvent = process.env["ANIMAL_STORE_TEST_TLS"] === undefined ? "connection" : "secureConnection";

interface Watched extends RunningService {
  readonly clock: ManualClock;
  readonly observers: Observers;
  readonly writes: string[];
}

async function watched(context: TestContext, store?: GatedStore, start: Start = {}): Promise<Watched> {
  const clock = new ManualClock();
  const writes: string[] = [];
  const observers = new Observers({ clock, hasMetrics: true, writeRequests: (text) => writes.push(text) });
  context.after(() => observers.flush());
  const running = await runningService(context, { ...start, clock, observers, options: store === undefined ? {} : { store } });
  return { ...running, clock, observers, writes };
}

const members = ["time", "id", "method", "route", "status", "code", "ms", "bytes", "key", "address", "trace", "pet", "to"] as const;
type RequestLine = Readonly<Record<(typeof members)[number], unknown>>;

function linesOf(writes: readonly string[]): readonly RequestLine[] {
  return writes.join("").trimEnd().split("\n").map((line) => JSON.parse(line) as RequestLine);
}

test("each request is one JSON line with exactly these members, and nothing secret", async (context) => {
  const { port, key, service, observers, writes } = await watched(context);
  const keyId = (await service.keys.list())[0]?.id;
  const fields = ["X-Request-Id: mine"];
  await exchange(port, request({ method: "POST", key, content: rex, fields }));
  await exchange(port, request({ target: "/v1/pets/secret-name?secret=1", key }));
  await exchange(port, request({ key: "as_wrong" }));
  await exchange(port, request({ target: "/healthz" }));
  const damaged = await exchange(port, "garbage\r\n\r\n");
  observers.flush();
  const text = writes.join("");
  const lines = linesOf(writes);
  const common = { time: "2026-11-21T12:00:00.000Z", ms: 0, address: "127.0.0.1", trace: null, pet: null, to: null };
  const rows = [
    { id: "mine", method: "POST", route: "/pets", status: 201, code: null, bytes: 57, key: keyId, pet: 1 },
    { id: lines[1]?.id, method: "GET", route: "/pets/{petId}", status: 404, code: "pet_not_found", bytes: 83, key: keyId },
    { id: lines[2]?.id, method: "GET", route: "none", status: 401, code: "invalid_api_key", bytes: lines[2]?.bytes, key: null },
    { id: lines[3]?.id, method: "GET", route: "none", status: 200, code: null, bytes: 15, key: null },
    { id: damaged.value("x-request-id"), method: "", route: "none", status: 400, code: "malformed_request", bytes: damaged.contentBytes, key: null },
  ];
  assert.deepEqual(lines.map(({ bytes: _, ...line }) => line), rows.map(({ bytes: _, ...row }) => ({ ...common, ...row })));
  assert.equal(lines[0]?.bytes, 57);
  assert.deepEqual(Object.keys(lines[0] ?? {}), members);
  assert.ok(!text.includes("secret") && !text.includes(key) && !text.includes("as_"));
});

test("the line has the trace id of a traceparent, if it is well-formed", async (context) => {
  const { port, key, observers, writes } = await watched(context);
  const [trace, parent] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
  const table = [
    [`00-${trace}-${parent}-01`, trace],
    [`cc-${trace}-${parent}-01-later`, trace],
    [`00-${trace}-${parent}-01-more`, null],
    [`ff-${trace}-${parent}-01`, null],
    [`00-${"0".repeat(32)}-${parent}-01`, null],
    [`00-${trace}-${"0".repeat(16)}-01`, null],
    [`00-${trace.toUpperCase()}-${parent}-01`, null],
    [`00-${trace}-${parent}`, null],
  ] as const;
  for (const [field] of table) {
    await exchange(port, request({ key, fields: [`traceparent: ${field}`] }));
  }
  observers.flush();
  assert.deepEqual(linesOf(writes).map((line) => line.trace), table.map(([, expected]) => expected));
});

test("the line of a response without content has 0 bytes", async (context) => {
  const { port, key, observers, writes } = await watched(context);
  await exchange(port, request({ method: "HEAD", key }));
  await exchange(port, request({ method: "OPTIONS", key }));
  await exchange(port, request({ target: "/favicon.ico", fields: ["If-None-Match: *"] }));
  observers.flush();
  const lines = linesOf(writes);
  assert.deepEqual(lines.map(({ status, bytes }) => [status, bytes]), [[200, 0], [204, 0], [304, 0]]);
});

test("the line has the animal that was added, changed or replayed, and the status if one was named, also if its client has gone", async (context) => {
  const { port, key, observers, writes } = await watched(context);
  const once = { key, fields: ["Idempotency-Key: a"] };
  await exchange(port, request({ ...once, method: "POST", content: rex }));
  await exchange(port, request({ ...once, method: "POST", content: rex }));
  const patch = { key, method: "PATCH", target: "/v1/pets/1", content: '{"status":"sold"}' };
  await exchange(port, request({ ...patch, fields: ['If-Match: "available"'] }));
  await exchange(port, request({ ...patch, fields: ['If-Match: "available"'] }));
  const corrections = ['{"name":"Rexi"}', '{"name":"Rexi","status":"pending"}'];
  for (const content of corrections) {
    await exchange(port, request({ ...patch, content, fields: ['If-Match: "sold"'] }));
  }
  await exchange(port, request({ key, target: "/v1/pets/1" }));
  await exchange(port, request({ ...patch, method: "DELETE", content: "", fields: ["If-Match: *"] }));
  observers.flush();
  const expected = [
    [201, 1, null], [201, 1, null], [200, 1, "sold"], [412, null, null], [200, 1, null], [200, 1, "pending"], [200, null, null],
    [204, 1, "removed"],
  ];
  assert.deepEqual(linesOf(writes).map(({ status, pet, to }) => [status, pet, to]), expected);

  const store = new GatedStore();
  const gated = await watched(context, store);
  const connected = new Promise<Socket>((resolve) => gated.listener.server.once(connectionEvent, resolve));
  const wire = (await Wire.open(gated.port)).send(request({ key: gated.key, method: "POST", content: rex }));
  await store.added(1);
  const socket = await connected;
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.destroy();
  await closed;
  store.open();
  await exchange(gated.port, request({ target: "/healthz" }));
  gated.observers.flush();
  assert.deepEqual(linesOf(gated.writes).map(({ status, pet }) => [status, pet]), [[0, 1], [200, null]]);
  wire.destroy();
});

test("ms begins with the end of the fields, in the lane too, and an upload that is broken off has its line", async (context) => {
  for (const hasFastLane of [true, false]) {
    const { port, key, clock, observers, writes } = await watched(context, undefined, { hasFastLane });
    const bytes = request({ method: "POST", key, content: rex });
    for (const isBrokenOff of [false, true]) {
      const wire = (await Wire.open(port)).send(bytes.subarray(0, -5));
      await exchange(port, request({ target: "/healthz" })); // What was sent before has been read.
      clock.advance(300);
      if (isBrokenOff) {
        wire.socket.resetAndDestroy();
        await exchange(port, request({ target: "/healthz" }));
      } else {
        assert.equal((await wire.send(bytes.subarray(-5)).response()).status, 201);
        wire.destroy();
      }
    }
    observers.flush();
    const posts = linesOf(writes).filter(({ method }) => method === "POST");
    assert.deepEqual(posts.map(({ status, ms }) => [status, ms]), [[201, 300], [0, 300]]);
  }
});

test("the line of a malformed message has the id of its valid key, and of no other", async (context) => {
  const { port, key, service, observers, writes } = await watched(context);
  const keyId = (await service.keys.list())[0]?.id;
  for (const secret of [key, "as_wrong"]) {
    assert.equal((await exchange(port, request({ key: secret, fields: ["Host: a", "Host: b"] }))).status, 400);
  }
  observers.flush();
  assert.deepEqual(linesOf(writes).map((line) => [line.status, line.key]), [[400, keyId], [400, null]]);
});

test("a line has the time at which its request arrived, and how long it took", async (context) => {
  const store = new GatedStore();
  const { port, key, clock, observers, writes } = await watched(context, store);
  const response = exchange(port, request({ method: "POST", key, content: rex }));
  await store.added(1);
  clock.advance(1_500.25);
  store.open();
  await response;
  observers.flush();
  const { time, ms } = JSON.parse(writes.join("")) as RequestLine;
  assert.deepEqual([time, ms], ["2026-11-21T12:00:00.000Z", 1_500.25]);
  const buckets = observers.metrics?.expose({ banCount: 0, isHealthy: true }).match(/le="(1|2.5)"} (0|1)$/gm);
  assert.deepEqual(buckets?.slice(0, 2), ['le="1"} 0', 'le="2.5"} 1']);
});

test("a label's value is escaped", () => {
  const text = family("x", "gauge", "Help.", [{ labels: { a: 'q"b\\n\n' }, value: 1 }, { value: 0.5 }]);
  assert.equal(text, '# HELP x Help.\n# TYPE x gauge\nx{a="q\\"b\\\\n\\n"} 1\nx 0.5\n');
});

test("metrics count requests by route pattern, method and status, and refusals by reason", async (context) => {
  const running = await watched(context);
  const { port, key, service } = running;
  const small = await keyWithQuota(running, 1);
  await exchange(port, request({ key }));
  for (let count = 0; count < 3; count++) {
    await exchange(port, request({ key: small }));
  }
  await exchange(port, request({ method: "POST", key, content: rex }));
  await exchange(port, request({ target: "/v1/pets/1", key }));
  for (let count = 0; count < 60; count++) {
    await exchange(port, request({ key: "wrong" }));
  }
  await exchange(port, request({}));
  await exchange(port, "garbage\r\n\r\n");
  const text = service.metrics();
  for (const sample of [
    'animal_store_requests_total{route="/pets",method="GET",status="200"} 2',
    'animal_store_requests_total{route="/pets",method="POST",status="201"} 1',
    'animal_store_requests_total{route="/pets/{petId}",method="GET",status="200"} 1',
    'animal_store_requests_total{route="none",method="GET",status="429"} 3',
    'animal_store_requests_total{route="none",method="GET",status="401"} 60',
    'animal_store_requests_total{route="none",method="other",status="400"} 1',
    'animal_store_request_duration_seconds_count{route="/pets",method="GET",status="200"} 2',
    'animal_store_refusals_total{reason="rate_limited"} 2',
    'animal_store_refusals_total{reason="key_banned"} 0',
    'animal_store_refusals_total{reason="too_many_failures"} 1',
    'animal_store_animals{status="available"} 1',
    'animal_store_animals{status="sold"} 0',
    "animal_store_healthy 1",
    "animal_store_append_duration_seconds_count 1",
    "animal_store_fsync_duration_seconds_count 1",
  ]) {
    assert.ok(text.split("\n").includes(sample), `${sample}\n${text}`);
  }
  const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
  assert.equal(new Set(names).size, names.length, "each family is there once");
  for (const line of text.trimEnd().split("\n")) {
    assert.match(line, /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? (-?[0-9.e+-]+|\+Inf))$/);
  }
});

/** The rows of the README's table with this heading, and of each its first cells, without their marks as code. */
function documented(heading: string, cellCount: number): readonly (readonly string[])[] {
  const readme = readFileSync(join(root, "src/observe/README.md"), "utf8");
  const [, rows = ""] = readme.split(`| ${heading} |`);
  const [table = ""] = rows.split("\n\n");
  return table.split("\n").slice(2).map((row) => row.split("|").slice(1, 1 + cellCount).map((cell) => cell.replaceAll("`", "").trim()));
}

test("the README of this module lists exactly the metrics that are exposed, with their types and labels", async (context) => {
  const { port, key, service, observers } = await watched(context);
  await exchange(port, request({ key }));
  const tls = { certificateEndSeconds: 1, certificateEndToldFromSeconds: 1, failedHandshakeCount: 1 };
  const text = observers.metrics?.expose({ ...service.gauges, ...tls }) ?? "";
  const exposed = Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = "", type = ""]) => {
    const [, labels = ""] = new RegExp(`^${name}(?:_bucket)?(?:\\{(.*)\\})? `, "m").exec(text) ?? assert.fail(name);
    const names = Array.from(labels.matchAll(/(\w+)="/g), ([, label = ""]) => label);
    return [name, type, names.filter((label) => label !== "le").join(", ")];
  });
  assert.deepEqual(documented("metric | type | labels | meaning", 3), exposed);
});

test("the README of this module lists exactly the properties of a line in the request log, in their order", async (context) => {
  const { port, key, observers, writes } = await watched(context);
  await exchange(port, request({ key }));
  observers.flush();
  assert.deepEqual(documented("property | meaning", 1).flat(), Object.keys(JSON.parse(writes.join("")) as object));
});

test("a response that repeats an earlier one is counted", async (context) => {
  const { port, key, service } = await watched(context);
  for (const target of ["once", "once", "twice"]) {
    const content = '{"name":"Rex","categoryId":1}';
    await exchange(port, request({ method: "POST", key, fields: [`Idempotency-Key: ${target}`], content }));
  }
  assert.match(service.metrics(), /^animal_store_replays_total 1$/m);
});

test("service.metrics() of an embedder counts what its requests did, if the option metrics is true", async (context) => {
  const report = (): void => undefined;
  const quiet = await openAnimalStore({ dataDir: temporaryFolder(context), report });
  context.after(() => quiet.close());
  assert.throws(() => quiet.metrics(), /metrics: true/);
  await assert.rejects(openAnimalStore({ dataDir: "x", metrics: 1 as unknown as boolean, report }), /^RangeError: .*metrics must be/);

  const service = await openAnimalStore({ dataDir: temporaryFolder(context), metrics: true, report });
  context.after(() => service.close());
  const port = await serve(context, service.handle);
  const { key } = await service.keys.create();
  await exchange(port, request({ key, method: "POST", content: rex }));
  assert.match(service.metrics(), /^animal_store_requests_total\{route="\/pets",method="POST",status="201"\} 1$/m);
  assert.match(service.metrics(), /^animal_store_animals\{status="available"\} 1$/m);
});

test("a request whose content was taken before counts with the status that the embedding program responds", async (context) => {
  const report = (): void => undefined;
  const service = await openAnimalStore({ dataDir: temporaryFolder(context), metrics: true, report });
  context.after(() => service.close());
  const closed: Promise<unknown>[] = [];
  const port = await serve(context, (incoming, outgoing) => {
    closed.push(once(outgoing, "close"));
    incoming.on("end", () => service.handle(incoming, outgoing, () => outgoing.writeHead(500, { "Content-Length": 0 }).end())).resume();
  });
  const { key } = await service.keys.create();
  assert.equal((await exchange(port, request({ key, method: "POST", content: rex }))).status, 500);
  await Promise.all(closed);
  assert.match(service.metrics(), /^animal_store_requests_total\{route="\/pets",method="POST",status="500"\} 1$/m);
});
