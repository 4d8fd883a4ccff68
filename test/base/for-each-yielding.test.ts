import assert from "node:assert/strict";
import { test } from "node:test";

import { forEachYielding } from "../../src/base/for-each-yielding.ts";

test("forEachYielding() takes each item once, in order, and other things have a turn at least every 500 items", async () => {
  const taken: number[] = [];
  const turns: number[] = [];
  let immediate = setImmediate(function count() {
    turns.push(taken.length);
    immediate = setImmediate(count);
  });
  await forEachYielding(Array.from({ length: 1_700 }, (_, index) => index), (item) => void taken.push(item));
  clearImmediate(immediate);
  assert.deepEqual(taken, Array.from({ length: 1_700 }, (_, index) => index));
  assert.ok([...turns, 1_700].every((count, index) => count - (turns[index - 1] ?? 0) <= 500), turns.join());
});
