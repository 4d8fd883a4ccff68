/**
 * `Idempotency-Key` on createPet (draft-ietf-httpapi-idempotency-key-header): a create may be sent again, and adds one
 * animal.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { keyWithQuota, type RunningService, runningService } from "../support/running-service.ts";
import { assertPromised, codeOf, type WireResponse } from "../support/wire-response.ts";
import { exchange, request, rex } from "../support/wire.ts";

interface Create {
  readonly content?: string;
  /** Values of `Idempotency-Key`, a field each. */
  readonly values?: readonly string[];
  readonly key?: string;
}

function create(running: RunningService, parts: Create = {}): Promise<WireResponse> {
  const { content = rex, values = ["order-1"], key = running.key } = parts;
  const fields = values.map((value) => `Idempotency-Key: ${value}`);
  return exchange(running.port, request({ method: "POST", key, content, fields }));
}

async function countOf({ port, key }: RunningService): Promise<number> {
  const { content } = await exchange(port, request({ target: "/v1/pets?limit=100", key }));
  return content === "[]" ? 0 : content.split("},{").length;
}

test("a create that is sent again with its Idempotency-Key is 201 with the same content and Location, and adds nothing", async (context) => {
  const running = await runningService(context);
  const first = await create(running);
  assertPromised(first);
  assert.deepEqual([first.status, first.value("idempotent-replayed")], [201, undefined]);
  // Equal after defaults, and spelt in another way.
  for (const content of [rex, '{"status":"available","categoryId":5.0,"name":"R\\u0065x"}']) {
    for (const value of ["order-1", '"order-1"']) {
      const again = await create(running, { content, values: [value] });
      assertPromised(again);
      assert.deepEqual(
        [again.status, again.content, again.value("location"), again.value("idempotent-replayed")],
        [201, first.content, first.value("location"), "true"],
      );
    }
  }
  assert.equal(await countOf(running), 1);
});

test("an Idempotency-Key sent with another animal is 422 idempotency_key_reused, and adds nothing", async (context) => {
  const running = await runningService(context);
  await create(running);
  const other = await create(running, { content: '{"name":"Rex","categoryId":6}' });
  assertPromised(other);
  assert.deepEqual([other.status, codeOf(other)], [422, "idempotency_key_reused"]);
  assert.equal((await create(running)).status, 201);
  assert.equal(await countOf(running), 1);
});

test("a malformed Idempotency-Key, or more than one, is 400 invalid_idempotency_key", async (context) => {
  const running = await runningService(context);
  for (const values of [[""], ["a b"], ["\u00e4"], ["a".repeat(256)], ["a", "a"], ['"a"', '"b"'], ['"a', 'b"']]) {
    const response = await create(running, { values });
    assertPromised(response);
    assert.deepEqual([response.status, codeOf(response)], [400, "invalid_idempotency_key"], values.join());
  }
  assert.equal(await countOf(running), 0);
});

test("an Idempotency-Key belongs to its API key, also after that was rotated", async (context) => {
  const running = await runningService(context);
  const { id, key } = await running.service.keys.create({ plan: "pro" });
  assert.equal((await create(running)).value("location"), "/v1/pets/1");
  assert.equal((await create(running, { key })).value("location"), "/v1/pets/2");
  const rotated = await running.service.keys.rotate(id);
  const again = await create(running, { key: rotated.key });
  assert.deepEqual([again.value("location"), again.value("idempotent-replayed")], ["/v1/pets/2", "true"]);
});

test("a replayed create takes a token, and is 429 without one", async (context) => {
  const running = await runningService(context);
  const key = await keyWithQuota(running, 2);
  assert.equal((await create(running, { key })).value("x-ratelimit-remaining"), "1");
  assert.equal((await create(running, { key })).value("x-ratelimit-remaining"), "0");
  assert.equal(codeOf(await create(running, { key })), "rate_limited");
});

test("other operations ignore Idempotency-Key", async (context) => {
  const running = await runningService(context);
  for (const target of ["/v1/pets", "/v1/limits"]) {
    const response = await exchange(running.port, request({ target, key: running.key, fields: ["Idempotency-Key: a b"] }));
    assert.equal(response.status, 200);
  }
});
