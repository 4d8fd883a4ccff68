import assert from "node:assert/strict";
import { test } from "node:test";

import { RequestIds } from "../../src/request/request-ids.ts";

test("RequestIds.next() returns short plain ids, no two of them equal in a process", () => {
  const ids = new RequestIds();
  const seen = new Set(Array.from({ length: 3_500 }, () => ids.next()));
  assert.equal(seen.size, 3_500);
  for (const id of seen) {
    assert.match(id, /^[0-9A-Za-z_-]{8}[0-9]{1,3}$/);
  }
});

test("RequestIds.choose() takes a short plain id of the client, and never a key", () => {
  const ids = new RequestIds();
  const key = `as_${"k".repeat(43)}`;
  assert.equal(ids.choose("order-17.retry_2"), "order-17.retry_2");
  for (const unfit of [undefined, "", "a b", "a".repeat(65), ["a", "b"], key, `x-${key}`, `${key}.1`]) {
    assert.match(ids.choose(unfit), /^[0-9A-Za-z_-]{8}[0-9]{1,3}$/, String(unfit));
  }
});
