/**
 * Versions of an animal, which its entity tag has, and corrections of its members: `PATCH /pets/{petId}` with any of
 * `name`, `categoryId` and `status`. Who changes an animal by a tag changes that version of it, or nothing.
 */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { type RunningService, runningService } from "../support/running-service.ts";
import { assertPromised, codeOf, type WireResponse } from "../support/wire-response.ts";
import { exchange, request, type RequestParts } from "../support/wire.ts";

interface Animal {
  readonly id?: number;
  readonly name?: string;
  /** As JSON text, because it may be too long for a number. */
  readonly categoryId?: string;
  readonly status?: string;
}

function textOf({ id = 1, name = "Rex", categoryId = "5", status = "available" }: Animal = {}): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

async function send({ port, key }: RunningService, sent: RequestParts): Promise<WireResponse> {
  const response = await exchange(port, request({ target: "/v1/pets/1", key, ...sent }));
  assertPromised(response);
  return response;
}

interface Change {
  readonly match?: string;
  /** The idempotency key. */
  readonly once?: string;
  readonly id?: number;
}

function patch(running: RunningService, content: string, { match = "*", once, id = 1 }: Change = {}): Promise<WireResponse> {
  const fields = [`If-Match: ${match}`, ...(once === undefined ? [] : [`Idempotency-Key: ${once}`])];
  return send(running, { method: "PATCH", target: `/v1/pets/${id}`, content, fields });
}

const toStatus = (status: string): string => `{"status":"${status}"}`;

/** With animals of this content, without their ids. */
async function withPets(context: TestContext, pets: readonly Animal[] = [{}]): Promise<RunningService> {
  const running = await runningService(context);
  for (const pet of pets) {
    const content = textOf(pet).replace('"id":1,', "");
    assert.equal((await send(running, { method: "POST", target: "/v1/pets", content })).status, 201);
  }
  return running;
}

/** Status, content and entity tag, and whether it is a replay. */
function seen(response: WireResponse): readonly unknown[] {
  const isReplay = response.value("idempotent-replayed") === "true";
  return [response.status, response.content, response.value("etag"), ...(isReplay ? ["replay"] : [])];
}

function judged(response: WireResponse): string {
  return `${response.status} ${codeOf(response) ?? response.value("etag")}`;
}

test("an animal has version 1 when it is added, and one more with each change: in the tag of 201, 200, 304 and 412", async (context) => {
  const running = await runningService(context);
  const content = '{"name":"Rex","categoryId":5}';
  const created = await send(running, { method: "POST", target: "/v1/pets", content });
  assert.deepEqual(seen(created), [201, textOf(), '"available-1"']);
  const steps: readonly (readonly [string, Animal])[] = [
    [toStatus("pending"), { status: "pending" }],
    ['{"name":"Rexi"}', { status: "pending", name: "Rexi" }],
    ['{"categoryId":6}', { status: "pending", name: "Rexi", categoryId: "6" }],
    ['{"status":"sold","name":"Rex","categoryId":5}', { status: "sold" }],
    [toStatus("available"), {}],
  ];
  for (const [index, [change, animal]] of steps.entries()) {
    const tag = `"${animal.status ?? "available"}-${index + 2}"`;
    assert.deepEqual(seen(await patch(running, change)), [200, textOf(animal), tag]);
    assert.deepEqual(seen(await send(running, {})), [200, textOf(animal), tag]);
    assert.deepEqual(seen(await send(running, { fields: [`If-None-Match: ${tag}`] })), [304, "", tag]);
    for (const refused of [await patch(running, change, { match: '"x"' }), await send(running, { fields: ['If-Match: "x"'] })]) {
      assert.deepEqual([judged(refused), refused.value("etag")], ["412 precondition_failed", tag]);
    }
  }
  const removed = await send(running, { method: "DELETE", fields: ['If-Match: "available-6"'] });
  const absent = await send(running, {});
  assert.deepEqual([removed.status, removed.value("etag"), absent.status, absent.value("etag")], [204, undefined, 404, undefined]);
});

test("a reservation is one's own: after the shop has released it and another has reserved, the first one's tag is 412", async (context) => {
  const running = await withPets(context);
  const [ofA] = [await patch(running, toStatus("pending"), { match: "available" })].map((response) => response.value("etag"));
  assert.equal(ofA, '"pending-2"');
  await patch(running, toStatus("available"), { match: '"pending"' });
  const ofB = (await patch(running, toStatus("pending"), { match: "available" })).value("etag");
  assert.equal(ofB, '"pending-4"');
  for (const change of [{ content: toStatus("sold") }, { content: toStatus("pending") }, { method: "DELETE" }]) {
    const refused = await send(running, { method: "PATCH", ...change, fields: [`If-Match: ${ofA}`] });
    assert.deepEqual([judged(refused), refused.value("etag")], ["412 precondition_failed", ofB]);
  }
  assert.deepEqual(seen(await patch(running, toStatus("sold"), { match: ofB ?? "" })), [200, textOf({ status: "sold" }), '"sold-5"']);
});

test("of 64 that change an animal by one tag at once, each to something else, one succeeds", async (context) => {
  const running = await withPets(context);
  const changes = Array.from({ length: 64 }, (_, index) => [toStatus("pending"), `{"name":"Rex ${index}"}`, `{"categoryId":${index}}`][index % 3]!);
  const responses = await Promise.all(changes.map((content) => patch(running, content, { match: '"available-1"' })));
  assert.deepEqual(responses.map(({ status }) => status).sort(), [200, ...Array<number>(63).fill(412)]);
  assert.match((await send(running, {})).value("etag") ?? "", /^"\w+-2"$/);
});

test("a correction changes the members that it names and no other, and is in getPet and in lists", async (context) => {
  const running = await withPets(context, [{}, { name: "Luna" }]);
  const long = "🐕".repeat(255);
  const table: readonly (readonly [string, Animal])[] = [
    ['{"name":"Rexi"}', { name: "Rexi" }],
    ['{"categoryId":9223372036854775807}', { name: "Rexi", categoryId: "9223372036854775807" }],
    ['{"categoryId":-9223372036854775808}', { name: "Rexi", categoryId: "-9223372036854775808" }],
    ['{"categoryId":5.0}', { name: "Rexi" }],
    ['{"categoryId":-0}', { name: "Rexi", categoryId: "0" }],
    ['{"status":"pending","categoryId":5e0}', { name: "Rexi", status: "pending" }],
    [`{"name":"${long}"}`, { name: long, status: "pending" }],
    ['{"name":"\\",\\"categoryId\\":7,\\"status\\":\\"sold\\"}"}', { name: '","categoryId":7,"status":"sold"}', status: "pending" }],
    ['{"categoryId":8}', { name: '","categoryId":7,"status":"sold"}', status: "pending", categoryId: "8" }],
    ['{"name":"R\\u0065x \\u2028","categoryId":5,"status":"available"}', { name: "Rex \u2028" }],
  ];
  for (const [content, animal] of table) {
    const changed = await patch(running, content);
    assert.deepEqual([changed.status, changed.content], [200, textOf(animal)]);
    assert.equal((await send(running, {})).content, textOf(animal));
    const listed = await send(running, { target: "/v1/pets" });
    assert.equal(listed.content, `[${textOf(animal)},${textOf({ id: 2, name: "Luna" })}]`);
  }
});

test("a correction that is not valid in every member changes none, and the 400 names each at fault", async (context) => {
  const running = await withPets(context);
  const table: readonly (readonly [string, readonly string[]])[] = [
    ["{}", ["status"]],
    ['{"id":1}', ["id"]],
    ['{"name":"Rexi","id":1}', ["id"]],
    ['{"name":"Rexi","colour":"red"}', ["colour"]],
    ['{"name":"Rexi","version":2}', ["version"]],
    ['{"name":"Rexi","status":"removed"}', ["status"]],
    ['{"name":"Rexi","status":null}', ["status"]],
    ['{"name":"","status":"sold"}', ["name"]],
    ['{"name":null,"categoryId":6}', ["name"]],
    ['{"name":" \\u2003","categoryId":6}', ["name"]],
    [`{"name":"${"x".repeat(256)}"}`, ["name"]],
    ['{"name":"\\ud800"}', ["name"]],
    ['{"name":"a","name":"b"}', ["name"]],
    ['{"categoryId":9223372036854775808,"status":"sold"}', ["categoryId"]],
    ['{"categoryId":"6"}', ["categoryId"]],
    ['{"categoryId":null}', ["categoryId"]],
    ['{"categoryId":1.5,"name":7,"status":"lost","id":1,"colour":2}', ["categoryId", "name", "status", "id", "colour"]],
  ];
  for (const [content, names] of table) {
    const refused = await patch(running, content);
    assert.equal(judged(refused), "400 invalid_body", content);
    names.forEach((name) => assert.ok(refused.content.includes(`\\"${name}\\"`), `${content}: ${refused.content}`));
  }
  assert.deepEqual(seen(await send(running, {})), [200, textOf(), '"available-1"']);
});

test("a change to what it is already makes no version without a key, and one with a key, whose retry is a replay", async (context) => {
  const running = await withPets(context);
  const whole = '{"name":"Rex","categoryId":5,"status":"available"}';
  for (const content of [toStatus("available"), '{"name":"Rex"}', '{"categoryId":5.0}', whole]) {
    for (const match of ["*", "available", '"available-1"']) {
      assert.deepEqual(seen(await patch(running, content, { match })), [200, textOf(), '"available-1"'], content);
    }
  }
  for (const [index, content] of [toStatus("available"), '{"name":"Rex"}', whole].entries()) {
    const tag = `"available-${index + 2}"`;
    const once = `order-${index}`;
    assert.deepEqual(seen(await patch(running, content, { once })), [200, textOf(), tag]);
    assert.deepEqual(seen(await patch(running, content, { once })), [200, textOf(), tag, "replay"]);
    assert.equal((await send(running, {})).value("etag"), tag);
  }
});

test("a change to what it is already is 412 with a stale tag, with a key and without", async (context) => {
  const running = await withPets(context);
  await patch(running, '{"name":"Rexi"}');
  for (const once of [undefined, "order-1"]) {
    const change = { match: '"available-1"', ...(once !== undefined && { once }) };
    assert.equal(judged(await patch(running, toStatus("available"), change)), "412 precondition_failed");
    assert.equal(judged(await patch(running, '{"name":"Rexi"}', change)), "412 precondition_failed");
  }
  assert.equal((await send(running, {})).value("etag"), '"available-2"');
});

test("a correction sent again with its key has the animal and the tag of then, whatever has happened since", async (context) => {
  const running = await withPets(context);
  const content = '{"name":"Rexi","status":"pending"}';
  const first = await patch(running, content, { match: '"available-1"', once: "order-1" });
  assert.deepEqual(seen(first), [200, textOf({ name: "Rexi", status: "pending" }), '"pending-2"']);
  const since: readonly (() => Promise<WireResponse>)[] = [
    () => patch(running, '{"name":"Rex","categoryId":9}'),
    () => patch(running, '{"name":"Rexi","categoryId":5}'),
    () => patch(running, toStatus("sold"), { once: "order-2" }),
    () => send(running, { method: "DELETE", fields: ["If-Match: *"] }),
  ];
  for (const happens of since) {
    assert.ok((await happens()).status < 300);
    assert.deepEqual(seen(await patch(running, content, { match: '"x"', once: "order-1" })), [...seen(first), "replay"]);
  }
});

test("a change is a replay of its key if the first response has each value that it names, else it is 422", async (context) => {
  const running = await withPets(context, [{}, {}]);
  await patch(running, '{"name":"Rexi","status":"pending"}', { once: "order-1" });
  const then = [200, textOf({ name: "Rexi", status: "pending" }), '"pending-2"', "replay"];
  await patch(running, '{"name":"Rex","categoryId":6,"status":"sold"}');
  const same = [toStatus("pending"), '{"name":"Rexi"}', '{"categoryId":5}', '{"status":"pending","categoryId":5,"name":"Rexi"}'];
  for (const content of same) {
    assert.deepEqual(seen(await patch(running, content, { once: "order-1" })), then, content);
  }
  const others = [toStatus("sold"), '{"name":"Rex"}', '{"categoryId":6}', '{"status":"pending","name":"Rex"}', '{"name":"Rexi","categoryId":6}'];
  for (const content of others) {
    assert.equal(judged(await patch(running, content, { once: "order-1" })), "422 idempotency_key_reused", content);
  }
  assert.equal(judged(await patch(running, toStatus("pending"), { once: "order-1", id: 2 })), "422 idempotency_key_reused");
  assert.equal((await send(running, {})).value("etag"), '"sold-3"');
});

test("a create sent again after a correction has its first bytes and tag; with what the correction says it is 422", async (context) => {
  const running = await runningService(context);
  const create = (name: string): Promise<WireResponse> => {
    const content = `{"name":"${name}","categoryId":5}`;
    return send(running, { method: "POST", target: "/v1/pets", content, fields: ["Idempotency-Key: create"] });
  };
  const first = await create("Rex");
  await patch(running, '{"name":"Rexi"}');
  const again = await create("Rex");
  assert.deepEqual([seen(again), again.value("location")], [[...seen(first), "replay"], "/v1/pets/1"]);
  assert.equal(judged(await create("Rexi")), "422 idempotency_key_reused");
});

test("a list of a category has its animals only, exactly, together with status, limit and after, and so has its Link", async (context) => {
  const [big, small] = ["9223372036854775807", "-9223372036854775808"];
  const categories = [big, small, big, "9223372036854775806", big, "0", big];
  const running = await withPets(context, categories.map((categoryId, index) => ({ categoryId, status: index === 4 ? "sold" : "available" })));
  const table: readonly (readonly [query: string, ids: readonly number[], link?: string])[] = [
    [`categoryId=${big}`, [1, 3, 5, 7]],
    [`categoryId=${small}`, [2]],
    ["categoryId=9223372036854775806", [4]],
    ["categoryId=0", [6]],
    ["categoryId=1", []],
    [`status=available&categoryId=${big}`, [1, 3, 7]],
    [`categoryId=${big}&status=sold`, [5]],
    [`categoryId=${big}&status=pending`, []],
    [`categoryId=${big}&after=1&limit=2`, [3, 5], `limit=2&categoryId=${big}&after=5`],
    [`limit=2&categoryId=${big}&after=5`, [7]],
    [`limit=2&status=available&categoryId=${big}`, [1, 3], `limit=2&status=available&categoryId=${big}&after=3`],
    [`limit=2&status=available&categoryId=${big}&after=3`, [7]],
    [`categoryId=${small}&limit=1`, [2]],
  ];
  for (const [query, ids, link] of table) {
    const listed = await send(running, { target: `/v1/pets?${query}` });
    assert.deepEqual([...listed.content.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id)), ids, query);
    assert.equal(listed.value("link"), link && `</v1/pets?${link}>; rel="next"`, query);
  }
});

test("a list of a category follows corrections and removals", async (context) => {
  const running = await withPets(context, [{}, {}, {}]);
  const listed = async (query: string): Promise<readonly string[]> => {
    const { content } = await send(running, { target: `/v1/pets?${query}` });
    return [...content.matchAll(/"id":(\d+)/g)].map(([, id]) => id ?? "");
  };
  await patch(running, '{"categoryId":6}', { id: 2 });
  assert.deepEqual([await listed("categoryId=5"), await listed("categoryId=6")], [["1", "3"], ["2"]]);
  await patch(running, '{"categoryId":6,"status":"sold"}', { id: 1 });
  assert.deepEqual([await listed("categoryId=6&status=sold"), await listed("status=available")], [["1"], ["2", "3"]]);
  await send(running, { method: "DELETE", target: "/v1/pets/2", fields: ["If-Match: *"] });
  assert.deepEqual([await listed("categoryId=6"), await listed("categoryId=5")], [["1"], ["3"]]);
});

test("a categoryId in a query that is not the one spelling of an int64 is 400, which names it", async (context) => {
  const running = await withPets(context);
  for (const text of ["-0", "+1", "%2B1", "5.0", "05", "5e0", "", "x", "9223372036854775808", "-9223372036854775809", "1&categoryId=1"]) {
    const refused = await send(running, { target: `/v1/pets?categoryId=${text}` });
    assert.equal(judged(refused), "400 invalid_parameter", text);
    assert.match(refused.content, /\\"categoryId\\"/, text);
  }
});
