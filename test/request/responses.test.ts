/**
 * What every response has, whatever the request (RFC 9110).
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { OutcomeUnknownError, StorageUnavailableError } from "../../src/pets/pet-store.ts";
import { openAnimalStore } from "../../src/service.ts";
import { serve } from "../support/embedding-server.ts";
import { FailingStore } from "../support/failing-store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { keyWithQuota, runningService, startService } from "../support/running-service.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { assertPromised, codeOf, type WireResponse } from "../support/wire-response.ts";
import { exchange, request, rex, Wire } from "../support/wire.ts";

const running = await startService();
after(() => running.close());
const { key } = running;
await exchange(running.port, request({ method: "POST", key, content: rex }));

const isPublic = true;

test("HEAD has the response of GET without content", async () => {
  for (const target of ["/v1/pets", "/v1/pets/1", "/v1/pets/2", "/v1/pets?limit=0", "/v1/nothing", "/healthz"]) {
    const get = await exchange(running.port, request({ target, key }));
    const head = await exchange(running.port, request({ method: "HEAD", target, key }));
    assert.equal(head.status, get.status);
    const comparable = ({ fields }: WireResponse) =>
      fields.filter(([name]) => !/^(date|x-request-id|x-ratelimit-remaining)$/.test(name));
    assert.deepEqual(comparable(head), comparable(get), target);
    assertPromised(head, { isHead: true, isPublic: target === "/healthz" });
  }
});

const allowed: readonly (readonly [string, string])[] = [
  ["/v1/pets", "GET, HEAD, POST, OPTIONS"],
  ["/v1/pets/1", "GET, HEAD, PATCH, DELETE, OPTIONS"],
  ["/v1/pets/none", "GET, HEAD, PATCH, DELETE, OPTIONS"],
  ["/healthz", "GET, HEAD, OPTIONS"],
  ["/favicon.ico", "GET, HEAD, OPTIONS"],
  ["/openapi.json", "GET, HEAD, OPTIONS"],
];
for (const [target, allow] of allowed) {
  test(`${target} allows ${allow}: OPTIONS is 204, other methods are 405`, async () => {
    const isPage = !target.startsWith("/v1");
    const options = await exchange(running.port, request({ method: "OPTIONS", target, key }));
    assert.equal(options.status, 204);
    assert.equal(options.value("allow"), allow);
    assertPromised(options, { isPublic: isPage });
    for (const method of ["PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "POST"].filter((one) => !allow.includes(one))) {
      const refused = await exchange(running.port, request({ method, target, key }));
      assert.equal(codeOf(refused), "method_not_allowed");
      assert.equal(refused.value("allow"), allow);
      assertPromised(refused, { isPublic: isPage });
    }
  });
}

test("public pages need no key, ignore a wrong one, and have no rate fields", async () => {
  for (const target of ["/healthz", "/openapi.json", "/healthz?anything", "http://localhost/healthz"]) {
    for (const secret of ["", "as_wrong"]) {
      const response = await exchange(running.port, request({ target, key: secret }));
      assert.equal(response.status, 200);
      assertPromised(response, { isPublic });
    }
  }
  assert.equal((await exchange(running.port, request({ target: "/healthz" }))).content, '{"status":"ok"}');
});

function assertDeprecated(response: WireResponse, isDeprecated: boolean): void {
  assert.equal(response.value("deprecation"), isDeprecated ? "@1795219200" : undefined);
  assert.equal(response.value("sunset"), isDeprecated ? "Thu, 05 Dec 2030 00:00:00 GMT" : undefined);
  const link = isDeprecated ? '</v1/pets>; rel="successor-version"' : undefined;
  assert.equal(response.value("link"), link);
}

test("every response of getPet but 401 and 429 says that it is deprecated, and no other response does", async (context) => {
  const table = [
    [200, "GET", "/v1/pets/1", true],
    [404, "GET", "/v1/pets/2", true],
    [200, "HEAD", "/v1/pets/1", true],
    [428, "PATCH", "/v1/pets/1", false],
    [428, "DELETE", "/v1/pets/1", false],
    [204, "OPTIONS", "/v1/pets/1", false],
    [200, "GET", "/v1/pets", false],
    [405, "PUT", "/v1/pets", false],
    [404, "GET", "/v1/pets/1/2", false],
  ] as const;
  for (const [status, method, target, isDeprecated] of table) {
    const response = await exchange(running.port, request({ method, target, key }));
    assert.equal(response.status, status);
    assertDeprecated(response, isDeprecated);
  }
  const used = await keyWithQuota(running, 1);
  await exchange(running.port, request({ key: used }));
  for (const [status, caller] of [[401, ""], [429, used]] as const) {
    const refused = await exchange(running.port, request({ target: "/v1/pets/1", key: caller }));
    assert.equal(refused.status, status);
    assertDeprecated(refused, false);
  }
  const broken = await runningService(context, { options: { store: new FailingStore() } });
  const failed = await exchange(broken.port, request({ target: "/v1/pets/1", key: broken.key }));
  assert.equal(failed.status, 500);
  assertDeprecated(failed, true);
});

test("getPet goes on working after the date of its removal", async (context) => {
  const wallMs = Date.UTC(2031, 0, 1);
  context.mock.timers.enable({ apis: ["Date"], now: wallMs });
  const { port, key: laterKey } = await runningService(context, { clock: new ManualClock({ wallMs }) });
  const created = await exchange(port, request({ method: "POST", key: laterKey, content: rex }));
  const response = await exchange(port, request({ target: "/v1/pets/1", key: laterKey }));
  assert.deepEqual([response.status, response.content], [200, created.content]);
  assertDeprecated(response, true);
});

test("the message of a 400 names the parameter, the member or the field at fault", async () => {
  const table = [
    [/"limit" must be an integer from 1 to 100/, { target: "/v1/pets?limit=0" }],
    [/"categoryId" is missing/, { method: "POST", content: '{"name":"Rex"}' }],
    [/The body is not UTF-8/, { method: "POST", content: Uint8Array.of(0xff) }],
    [/more than one Host header/, { fields: ["Host: a", "Host: b"] }],
  ] as const;
  for (const [message, parts] of table) {
    const { content } = await exchange(running.port, request({ key, ...parts }));
    assert.match((JSON.parse(content) as { readonly message: string }).message, message);
  }
});

test("X-Request-Id is the client's if that is short and plain, else a new one", async () => {
  for (const id of ["a", "x".repeat(64), "0af7651916cd43dd-8448.eb_211c"]) {
    const response = await exchange(running.port, request({ fields: [`X-Request-Id: ${id}`] }));
    assert.equal(response.value("x-request-id"), id);
  }
  const seen = new Set<string | undefined>();
  for (const id of ["", "x".repeat(65), "a b", "a\tb", "<b>", "\xe9", "a, b", '"a"']) {
    const response = await exchange(running.port, request({ target: "/healthz", fields: [`X-Request-Id: ${id}`] }));
    assertPromised(response, { isPublic });
    assert.notEqual(response.value("x-request-id"), id);
    seen.add(response.value("x-request-id"));
  }
  const doubled = ["X-Request-Id: a", "X-Request-Id: b"];
  seen.add((await exchange(running.port, request({ target: "/healthz", fields: doubled }))).value("x-request-id"));
  assert.equal(seen.size, 9);
});

test("Connection: close is obeyed, and HTTP/1.0 closes unless the client asks to keep the connection", async () => {
  const closing = ["close", "CLOSE", "TE, close", "TE,\tclose", "close, keep-alive", "keep-alive, CLOSE", "keep-alive,close ,"];
  for (const version of ["1.0", "1.1"]) {
    for (const option of closing) {
      const wire = await Wire.open(running.port);
      wire.send(request({ key, version, fields: [`Connection: ${option}`] }));
      assert.equal((await wire.response()).value("connection"), "close", option);
      assert.equal((await wire.closed()).ending, "end");
    }
  }
  const old = await Wire.open(running.port);
  const fields = ["Connection: keep-alive", "X-Request-Id: Content-Length"];
  for (const [method, target, ...more] of [
    ["GET", "/v1/pets"],
    ["HEAD", "/v1/pets"],
    ["OPTIONS", "/v1/pets"], // 204, and next 304: they have no Content-Length.
    ["GET", "/favicon.ico", "If-None-Match: *"],
    ["HEAD", "/favicon.ico", "If-None-Match: *"],
  ] as const) {
    old.send(request({ method, target, key, version: "1.0", fields: [...fields, ...more] }));
    assert.equal((await old.response(method)).value("connection"), "keep-alive");
    old.send(request({ key, version: "1.0", fields })); // A request sent ahead may find the connection closed.
    assert.equal((await old.response()).value("connection"), "keep-alive");
  }
  old.send(request({ key, version: "1.0" }));
  assert.equal((await old.response()).value("connection"), "close");
  assert.equal((await old.closed()).rest, "");
});

test("an exception in a handler is 500 for that request alone, and says nothing about the cause", async (context) => {
  const store = new FailingStore();
  const broken = await runningService(context, { options: { store } });
  const wire = await Wire.open(broken.port);
  for (const [method, target] of [["GET", "/v1/pets"], ["GET", "/v1/pets/1"], ["POST", "/v1/pets"]] as const) {
    wire.send(request({ method, target, key: broken.key, content: method === "POST" ? rex : "" }));
    const response = await wire.response();
    assert.equal(codeOf(response), "internal_error");
    assertPromised(response);
    assert.doesNotMatch(response.content, /broken|store|Error:|at /);
    const id = response.value("x-request-id") ?? "";
    assert.ok(broken.reports.some((line) => line.includes(id) && line.includes(store.failure.message)));
  }
  store.list = () => {
    throw new Error("at once, not in a promise");
  };
  assert.equal(codeOf(await wire.send(request({ key: broken.key })).response()), "internal_error");
  store.failure = Object.create(null) as Error; // It has no toString.
  assert.equal(codeOf(await wire.send(request({ key: broken.key, target: "/v1/pets/1" })).response()), "internal_error");
  assert.equal((await wire.send(request({ key: broken.key, target: "/v1/nothing" })).response()).status, 404);
  wire.destroy();
});

test("a response that cannot be sent costs only its connection, also if its content was still coming", async (context) => {
  const reports: string[] = [];
  const dataDir = temporaryFolder(context);
  const service = await openAnimalStore({ dataDir, report: (message) => reports.push(message) });
  context.after(() => service.close());
  const port = await serve(context, (incoming, outgoing) => {
    outgoing.writeHead = () => {
      throw new Error("as a middleware may");
    };
    service.handle(incoming, outgoing);
  });
  for (const fields of [[], ["Content-Length: 5"]]) {
    const wire = await Wire.open(port, { isSecure: false });
    wire.send(request({ fields }));
    assert.equal((await wire.closed()).rest, "");
  }
  assert.equal(reports.length, 2);
});

test("a store that cannot write is 503, with a code that says whether the animal may have been stored", async (context) => {
  const store = new FailingStore();
  const broken = await runningService(context, { options: { store } });
  const table = [
    [new StorageUnavailableError("no space left"), "storage_unavailable"],
    [new OutcomeUnknownError("sync failed"), "outcome_unknown"],
  ] as const;
  for (const [failure, code] of table) {
    store.failure = failure;
    const response = await exchange(broken.port, request({ method: "POST", key: broken.key, content: rex }));
    assert.equal(codeOf(response), code);
    assertPromised(response);
    assert.ok(!response.content.includes(failure.message));
  }
  assert.deepEqual(broken.reports, []);
  const health = await exchange(broken.port, request({ target: "/healthz" }));
  assert.deepEqual([health.status, health.content], [503, '{"status":"unavailable"}']);
  assertPromised(health, { isPublic });
});
