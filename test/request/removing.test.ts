/** removePet: `DELETE /pets/{petId}`, always under preconditions, as changePet is. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type RunningService, runningService } from "../support/running-service.ts";
import { assertPromised, type WireResponse } from "../support/wire-response.ts";
import { exchange, request, type RequestParts } from "../support/wire.ts";

const rex = '{"name":"Rex","categoryId":5}';
const any = "If-Match: *";

async function send({ port, key }: RunningService, sent: RequestParts): Promise<WireResponse> {
  const response = await exchange(port, request({ method: "DELETE", target: "/v1/pets/1", key, ...sent }));
  assertPromised(response);
  return response;
}

function add(running: RunningService, fields: readonly string[] = []): Promise<WireResponse> {
  return send(running, { method: "POST", target: "/v1/pets", content: rex, fields });
}

function judged({ status, content, fields }: WireResponse): string {
  const code = status < 400 ? "" : ` ${/"code":"(\w+)"/.exec(content)?.[1]}`;
  return `${status}${code}${fields.some(([name]) => name === "idempotent-replayed") ? " replayed" : ""}`;
}

test("a removal is 204 without content, and then the animal is in no list, and 404 for every method", async (context) => {
  const running = await runningService(context);
  await add(running);
  await add(running);
  const removed = await send(running, { fields: ['If-Match: "available"'] });
  assert.deepEqual([removed.status, removed.content, removed.value("etag"), removed.value("content-length")], [204, "", undefined, undefined]);
  for (const target of ["/v1/pets", "/v1/pets?status=available", "/v1/pets?limit=1"]) {
    const { content } = await send(running, { method: "GET", target });
    assert.equal(content, `[{"id":2,${rex.slice(1, -1)},"status":"available"}]`);
  }
  assert.equal(judged(await send(running, { method: "GET" })), "404 pet_not_found");
  assert.equal(judged(await send(running, { method: "PATCH", fields: [any], content: '{"status":"sold"}' })), "404 pet_not_found");
  assert.equal(judged(await send(running, { fields: [any] })), "404 pet_not_found");
  assert.equal((await add(running)).value("location"), "/v1/pets/3");
});

/** In the order in which they are asked, so that the first reason of several is the one that is told. */
test("the order is: key, fields, an id that was never given, replay or 422, a removed animal, 412", async (context) => {
  const running = await runningService(context);
  const { key: readOnly } = await running.service.keys.create({ readOnly: true });
  await add(running, ["Idempotency-Key: created"]);
  await add(running);
  const table: readonly (readonly [string, RequestParts])[] = [
    ["403 insufficient_scope", { key: readOnly, fields: ["Idempotency-Key:"] }],
    ["400 invalid_idempotency_key", { fields: ["Idempotency-Key:", "If-Match: lost"] }],
    ["400 invalid_precondition", { fields: ["If-Match: lost"] }],
    ["400 invalid_precondition", { fields: [any, "If-None-Match:"] }],
    ["400 invalid_precondition", { fields: [any, 'If-None-Match: "available"'] }],
    ["428 precondition_required", { target: "/v1/pets/9" }],
    ["404 pet_not_found", { target: "/v1/pets/9", fields: [any, "Idempotency-Key: created"] }],
    ["404 pet_not_found", { target: "/v1/pets/rex", fields: [any] }],
    ["422 idempotency_key_reused", { fields: ["If-Match: sold", "Idempotency-Key: created"] }],
    ["412 precondition_failed", { fields: ["If-Match: sold"] }],
    ["412 precondition_failed", { fields: [any, 'If-None-Match: "available-1"'] }],
    ["204", { fields: [any, "Idempotency-Key: removed"], content: "what nobody reads" }],
    ["204 replayed", { fields: ["If-Match: sold", "Idempotency-Key: removed"] }],
    ["422 idempotency_key_reused", { fields: [any, "Idempotency-Key: created"] }],
    ["422 idempotency_key_reused", { target: "/v1/pets/2", fields: [any, "Idempotency-Key: removed"] }],
    ["404 pet_not_found", { fields: [any, "Idempotency-Key: another"] }],
    ["404 pet_not_found", { fields: ["If-Match: sold"] }],
  ];
  for (const [expected, sent] of table) {
    assert.equal(judged(await send(running, sent)), expected, JSON.stringify(sent));
  }
  const refused = await send(running, { target: "/v1/pets/2", fields: ["If-Match: sold"] });
  assert.equal(refused.value("etag"), '"available-1"');
  assert.match(refused.content, /The animal is \\"available-1\\"/);
});

test('"removed" is no status: in a query, a create, a change and a precondition it is 400', async (context) => {
  const running = await runningService(context);
  await add(running);
  for (const sent of [
    { method: "GET", target: "/v1/pets?status=removed" },
    { method: "POST", target: "/v1/pets", content: rex.replace("}", ',"status":"removed"}') },
    { method: "PATCH", content: '{"status":"removed"}', fields: [any] },
    { fields: ["If-Match: removed"] },
  ]) {
    assert.equal((await send(running, sent)).status, 400, JSON.stringify(sent));
  }
});
