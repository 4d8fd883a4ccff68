/**
 * changePet: `PATCH /pets/{petId}` (RFC 5789, 7396), always under preconditions (RFC 9110, 13; RFC 6585, 3), and the
 * preconditions of getPet.
 */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { type RunningService, runningService } from "../support/running-service.ts";
import { assertPromised, codeOf, type WireResponse } from "../support/wire-response.ts";
import { exchange, request, type RequestParts, rex, Wire } from "../support/wire.ts";

const statuses = ["available", "pending", "sold"] as const;
const other = { available: "pending", pending: "sold", sold: "available" } as const;

async function send({ port, key }: RunningService, sent: RequestParts): Promise<WireResponse> {
  const response = await exchange(port, request({ target: "/v1/pets/1", key, ...sent }));
  assertPromised(response, { isHead: sent.method === "HEAD" });
  return response;
}

function change(running: RunningService, status: string, fields: readonly string[], target?: string): Promise<WireResponse> {
  return send(running, { method: "PATCH", content: `{"status":"${status}"}`, fields, ...(target !== undefined && { target }) });
}

/** With animal 1, which is of this status, and was not changed yet. */
async function withPet(context: TestContext, status = "available"): Promise<RunningService> {
  const running = await runningService(context);
  await send(running, { method: "POST", target: "/v1/pets", content: petOf(status) });
  return running;
}

function petOf(status: string): string {
  return `{"name":"Rex","categoryId":-9223372036854775808,"status":"${status}"}`;
}

function textOf(status: string, id = 1): string {
  return `{"id":${id},${petOf(status).slice(1)}`;
}

async function tagOf(running: RunningService): Promise<string | undefined> {
  return (await send(running, {})).value("etag");
}

function judged({ status, content }: WireResponse): string {
  return status < 400 ? String(status) : `${status} ${/"code":"(\w+)"/.exec(content)?.[1]}`;
}

test("a change is 200 with the whole animal, and its new status is in ETag, in getPet and in listPets", async (context) => {
  const running = await withPet(context);
  const changes = [["available", "pending"], ["pending", "sold"], ["sold", "available"]] as const;
  for (const [index, [from, to]] of changes.entries()) {
    const changed = await change(running, to, [`If-Match: "${from}"`]);
    const tag = `"${to}-${index + 2}"`;
    assert.deepEqual([changed.status, changed.content, changed.value("etag")], [200, textOf(to), tag]);
    assert.equal(changed.value("deprecation"), undefined);
    const fetched = await send(running, {});
    assert.deepEqual([fetched.content, fetched.value("etag")], [textOf(to), tag]);
    for (const status of statuses) {
      const listed = await send(running, { target: `/v1/pets?status=${status}` });
      assert.equal(listed.content, status === to ? `[${textOf(to)}]` : "[]");
    }
  }
});

const match = (value: string) => `If-Match: ${value}`;
const noneMatch = (value: string) => `If-None-Match: ${value}`;

test("an animal has version 1 when it is added, and one more with each change: in the tag of 201, 200, 304 and 412", async (context) => {
  const running = await runningService(context);
  const created = await send(running, { method: "POST", target: "/v1/pets", content: rex });
  assert.deepEqual([created.status, created.value("etag")], [201, '"available-1"']);
  const changes = ['{"status":"pending"}', '{"name":"Rexi"}', '{"categoryId":6}', '{"status":"sold","name":"Rex"}'];
  for (const [index, content] of changes.entries()) {
    const tag = `"${index < 3 ? "pending" : "sold"}-${index + 2}"`;
    for (const [status, sent] of [
      [200, { method: "PATCH", content, fields: [match("*")] }],
      [200, {}],
      [304, { fields: [noneMatch(tag)] }],
      [412, { fields: [match('"x"')] }],
      [412, { method: "PATCH", content, fields: [match('"x"')] }],
    ] as const) {
      const response = await send(running, sent);
      assert.deepEqual([response.status, response.value("etag")], [status, tag]);
    }
  }
});

/** Fields, and what they come to on an animal whose tag is `"available-1"`: for PATCH, and for GET. */
const preconditions: readonly (readonly [readonly string[], string, string])[] = [
  [[], "428 precondition_required", "200"],
  [[match('"available"')], "200", "200"],
  [[match("available")], "200", "200"],
  [[match('"available-1"')], "200", "200"],
  [[match("available-1")], "200", "200"],
  [[match("*")], "200", "200"],
  [[match('"sold-1", "available-1"')], "200", "200"],
  [[match('"pending-7" ,\t"available",')], "200", "200"],
  [[match(',, "available-1"')], "200", "200"],
  [[match('"sold"'), match('"available"')], "200", "200"],
  [[match('"sold"')], "412 precondition_failed", "412 precondition_failed"],
  [[match('"available-2"')], "412 precondition_failed", "412 precondition_failed"],
  [[match("available-2147483648")], "412 precondition_failed", "412 precondition_failed"],
  [[match('W/"available-1"')], "412 precondition_failed", "412 precondition_failed"],
  [[match('"x"')], "412 precondition_failed", "412 precondition_failed"],
  [[match('"available-01"')], "412 precondition_failed", "412 precondition_failed"],
  [[match('W/"available-1;br", "available-1-gzip"')], "412 precondition_failed", "412 precondition_failed"],
  [[match('"available-1.0", "available-1e0", "available-+1", "available--1"')], "412 precondition_failed", "412 precondition_failed"],
  [[match('"*"')], "412 precondition_failed", "412 precondition_failed"],
  [[match("")], "400 invalid_precondition", "400 invalid_precondition"],
  [[match("lost")], "400 invalid_precondition", "400 invalid_precondition"],
  [[match("available-01")], "400 invalid_precondition", "400 invalid_precondition"],
  [[match("available, sold")], "400 invalid_precondition", "400 invalid_precondition"],
  [[match('"sold", available')], "400 invalid_precondition", "400 invalid_precondition"],
  [[match('*, "available"')], "400 invalid_precondition", "400 invalid_precondition"],
  [[match('"available" "sold"')], "400 invalid_precondition", "400 invalid_precondition"],
  [[match('"available')], "400 invalid_precondition", "400 invalid_precondition"],
  [[match('w/"available"')], "400 invalid_precondition", "400 invalid_precondition"],
  [[match('"a b"')], "400 invalid_precondition", "400 invalid_precondition"],
  [[noneMatch('"available-1"')], "428 precondition_required", "304"],
  [[noneMatch("available-1")], "428 precondition_required", "304"],
  [[noneMatch('W/"available-1"')], "428 precondition_required", "304"],
  [[noneMatch("*")], "428 precondition_required", "304"],
  [[noneMatch('"available-2"')], "428 precondition_required", "200"],
  [[noneMatch('"available-01", "x"')], "428 precondition_required", "200"],
  [[noneMatch('"available"')], "400 invalid_precondition", "200"],
  [[noneMatch('"sold-1", W/"sold"')], "400 invalid_precondition", "200"],
  [[noneMatch("available")], "400 invalid_precondition", "400 invalid_precondition"],
  [[noneMatch("")], "400 invalid_precondition", "400 invalid_precondition"],
  [[noneMatch('*, "sold-1"')], "400 invalid_precondition", "400 invalid_precondition"],
  [[match("*"), noneMatch('"available"')], "400 invalid_precondition", "200"],
  [[match("*"), noneMatch('"sold-1"')], "200", "200"],
  [[match("*"), noneMatch('W/"available-1"')], "412 precondition_failed", "304"],
  [[match("*"), noneMatch("*")], "412 precondition_failed", "304"],
  [[match('"sold"'), noneMatch('"available-1"')], "412 precondition_failed", "412 precondition_failed"],
];

for (const [fields, changed, fetched] of preconditions) {
  test(`${fields.join("; ") || "no precondition"}: a change is ${changed}, getPet is ${fetched}`, async (context) => {
    const running = await withPet(context);
    for (const method of ["GET", "HEAD"]) {
      const response = await send(running, { method, fields });
      assert.equal(response.status, Number(fetched.split(" ")[0]));
      assert.ok(method === "HEAD" || judged(response) === fetched);
      assert.equal(response.value("deprecation"), "@1795219200");
      assert.equal(response.value("etag"), response.status === 400 ? undefined : '"available-1"');
    }
    const response = await change(running, "sold", fields);
    assert.equal(judged(response), changed);
    assert.equal(await tagOf(running), changed === "200" ? '"sold-2"' : '"available-1"');
  });
}

test("a 412 says the present tag, in its message and in ETag", async (context) => {
  for (const status of statuses) {
    const running = await withPet(context, status);
    const refused = await change(running, "sold", [`If-Match: "${other[status]}"`]);
    assert.deepEqual([codeOf(refused), refused.value("etag")], ["precondition_failed", `"${status}-1"`]);
    assert.ok((JSON.parse(refused.content) as { message: string }).message.includes(`"${status}-1"`));
  }
});

test("a status in If-None-Match of a change or a removal is a 400 that names If-Match", async (context) => {
  const running = await withPet(context);
  for (const value of ['"sold"', "sold", 'W/"available"', '"available-1", "pending"']) {
    for (const method of ["PATCH", "DELETE"]) {
      const refused = await send(running, { method, content: '{"status":"sold"}', fields: [match("*"), noneMatch(value)] });
      assert.match(judged(refused), /^400 invalid_precondition$/, value);
      assert.match(refused.content, /If-Match/, value);
    }
  }
  assert.equal(await tagOf(running), '"available-1"');
});

const merge = "Content-Type: application/merge-patch+json";

const contents: readonly (readonly [string, string, readonly string[]])[] = [
  ["200", '{"status":"sold"}', [merge]],
  ["200", '\ufeff{ "status" : "s\\u006fld" }', [`${merge}; charset=UTF-8`]],
  ["200", '{"status":"sold"}', ["Content-Type: Application/Merge-Patch+JSON ;x=1"]],
  ["415 unsupported_media_type", '{"status":"sold"}', ["Content-Type: application/json-patch+json"]],
  ["415 unsupported_media_type", '{"status":"sold"}', [`${merge}; charset=latin1`]],
  ["415 unsupported_media_type", '{"status":"sold"}', [merge, merge]],
  ["413 body_too_large", `{"status":"sold"}${" ".repeat(16_384)}`, []],
  ["400 malformed_json", "", []],
  ["400 invalid_body", "{}", []],
  ["400 invalid_body", '{"status":"lost"}', []],
  ["400 invalid_body", '{"status":"sold","id":1}', []],
];

for (const [expected, content, fields] of contents) {
  test(`a change sent as ${JSON.stringify(content.slice(0, 40))} with ${fields.join("; ") || "no type"} is ${expected}`, async (context) => {
    const running = await withPet(context);
    const response = await send(running, { method: "PATCH", content, fields: [match("*"), ...fields] });
    assert.equal(judged(response), expected);
    const accepted = response.status === 415 ? "application/merge-patch+json, application/json" : undefined;
    assert.equal(response.value("accept-patch"), accepted);
    assert.equal(await tagOf(running), expected === "200" ? '"sold-2"' : '"available-1"');
  });
}

test("a create is 415 as application/merge-patch+json, without Accept-Patch", async (context) => {
  const running = await runningService(context);
  const refused = await send(running, { method: "POST", target: "/v1/pets", content: rex, fields: [merge] });
  assert.deepEqual([judged(refused), refused.value("accept-patch")], ["415 unsupported_media_type", undefined]);
});

test("a change of what is no animal's id is 404", async (context) => {
  const running = await withPet(context);
  for (const id of ["2", "0", "01", "-1", "1.0", "rex", "%31", "9007199254740993"]) {
    const response = await change(running, "sold", [match("*"), `Idempotency-Key: ${Math.random()}`], `/v1/pets/${id}`);
    assert.equal(judged(response), "404 pet_not_found", id);
    assert.equal(response.value("deprecation"), undefined);
  }
});

test("of several faults of a change, the first is told: key, field, precondition, content, animal, retry, status", async (context) => {
  const running = await withPet(context);
  await change(running, "pending", [match("*"), "Idempotency-Key: used"]);
  const { key: readOnly } = await running.service.keys.create({ readOnly: true });
  const faults: readonly (readonly [string, RequestParts & { readonly fields: readonly string[] }])[] = [
    ["403 insufficient_scope", { key: readOnly, fields: [] }],
    ["400 invalid_idempotency_key", { fields: ["Idempotency-Key:"] }],
    ["400 invalid_precondition", { fields: [noneMatch("?")] }],
    ["428 precondition_required", { fields: [] }],
    ["415 unsupported_media_type", { fields: [match("sold"), "Content-Type: text/plain"] }],
    ["413 body_too_large", { fields: [match("sold")], content: " ".repeat(16_385), target: "/v1/pets/2" }],
    ["400 malformed_json", { fields: [match("sold")], content: "{", target: "/v1/pets/2" }],
    ["404 pet_not_found", { fields: [match("sold"), "Idempotency-Key: used"], target: "/v1/pets/2" }],
    ["422 idempotency_key_reused", { fields: [match("sold"), "Idempotency-Key: used"] }],
    ["412 precondition_failed", { fields: [match("sold")] }],
  ];
  for (const [index, [expected, sent]] of faults.entries()) {
    // With every later fault that it can have beside its own.
    const later = faults.slice(index + 1).flatMap(([, { fields }]) => fields.filter((field) => field.startsWith("Content-Type")));
    const fields = [...sent.fields, ...(index < 4 ? later : [])];
    const response = await send(running, { method: "PATCH", content: '{"status":"available"}', ...sent, fields });
    assert.equal(judged(response), expected);
  }
});

test("a change sent again with its Idempotency-Key is the same 200, whatever has happened since", async (context) => {
  const running = await withPet(context);
  const fields = [match("available"), "Idempotency-Key: order-1"];
  const first = await change(running, "pending", fields);
  assert.deepEqual([first.status, first.value("idempotent-replayed")], [200, undefined]);
  for (const [index, status] of ["sold", "pending", "available"].entries()) {
    await change(running, status, [match("*")]);
    for (const [field, type] of [["available", merge], ['"sold"', "X: y"]] as const) {
      const again = await change(running, "pending", [match(field), "Idempotency-Key: order-1", type]);
      const seen = [again.status, again.content, again.value("etag"), again.value("idempotent-replayed")];
      assert.deepEqual(seen, [200, first.content, '"pending-2"', "true"]);
    }
    assert.equal(await tagOf(running), `"${status}-${index + 3}"`, "nothing is changed again");
    assert.equal(judged(await change(running, "pending", ["Idempotency-Key: order-1"])), "428 precondition_required");
  }
});

test("an Idempotency-Key belongs to one request, a create or a change: with any other it is 422", async (context) => {
  const running = await withPet(context);
  const once = (key: string) => `Idempotency-Key: ${key}`;
  const add = (content: string, key: string) => send(running, { method: "POST", target: "/v1/pets", content, fields: [once(key)] });
  const created = await add(petOf("available"), "create");
  assert.equal((await change(running, "sold", [match("*"), once("change")])).status, 200);
  assert.equal(judged(await change(running, "pending", [match("*"), once("change")])), "422 idempotency_key_reused");
  assert.equal(judged(await change(running, "sold", [match("*"), once("change")], "/v1/pets/2")), "422 idempotency_key_reused");
  assert.equal(judged(await change(running, "available", [match("*"), once("create")], "/v1/pets/2")), "422 idempotency_key_reused");
  assert.equal(judged(await add(petOf("sold"), "change")), "422 idempotency_key_reused");
  await change(running, "sold", [match("*")], "/v1/pets/2");
  const again = await add(petOf("available"), "create");
  assert.deepEqual(
    [again.status, again.content, again.value("etag"), again.value("location"), again.value("idempotent-replayed")],
    [201, created.content, '"available-1"', "/v1/pets/2", "true"],
    "a create has its first bytes after its animal has changed",
  );
  assert.equal(judged(await add(petOf("sold"), "create")), "422 idempotency_key_reused");
});

test("a 304 has no content, keeps the connection, and takes a token", async (context) => {
  const running = await withPet(context);
  const wire = await Wire.open(running.port);
  context.after(() => wire.destroy());
  const remaining: number[] = [];
  for (const status of [304, 304, 200]) {
    const fields = status === 304 ? [noneMatch('"available-1"')] : [];
    wire.send(request({ target: "/v1/pets/1", key: running.key, fields }));
    const response = await wire.response();
    assertPromised(response);
    assert.equal(response.status, status);
    remaining.push(Number(response.value("x-ratelimit-remaining")));
  }
  assert.deepEqual(remaining.map((count) => count - remaining[0]!), [0, -1, -2]);
});
