import assert from "node:assert/strict";
import { test } from "node:test";

import { Batcher } from "../../src/base/batcher.ts";

test("Batcher.add() settles each of 200,000 items with its own result, in order, although a batch takes a few of them", async () => {
  const taken: number[] = [];
  const run = async (items: readonly number[]): Promise<readonly number[]> => {
    const first = items.slice(0, 8_000);
    taken.push(...first);
    return first.map((item) => -item);
  };
  const batcher = new Batcher(run, { concurrency: 1, refusal: () => undefined });
  const items = Array.from({ length: 200_000 }, (_, index) => index + 1);
  assert.deepEqual(await Promise.all(items.map((item) => batcher.add(item))), items.map((item) => -item));
  assert.deepEqual(taken, items);
});
