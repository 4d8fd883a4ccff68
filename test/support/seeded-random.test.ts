import assert from "node:assert/strict";
import { test } from "node:test";

import { SeededRandom, seeded } from "./seeded-random.ts";

test("SeededRandom gives the same numbers for the same seed, and others for another", () => {
  const numbers = (seed: number) => {
    const random = new SeededRandom(seed);
    return random.times(8, () => random.uint32());
  };
  assert.deepEqual(numbers(1), numbers(1));
  assert.notDeepEqual(numbers(1), numbers(2));
});

test("SeededRandom.integer() reaches both bounds and nothing beyond", () => {
  const random = new SeededRandom(0);
  const seen = new Set(random.times(200, () => random.integer(-1, 2)));
  assert.deepEqual([...seen].sort((a, b) => a - b), [-1, 0, 1, 2]);
});

test("SeededRandom refuses a seed that is no unsigned 32-bit integer", () => {
  for (const seed of [-1, 0.5, 2 ** 32, Number.NaN]) {
    assert.throws(() => new SeededRandom(seed), RangeError, `seed ${seed}`);
  }
});

test("seeded() names the seed of a failure and keeps its cause", async () => {
  const cause = new Error("the reason");
  const failing = seeded(() => {
    throw cause;
  });
  await assert.rejects(failing(), (error: Error) => {
    assert.match(error.message, /^SEED=\d+ replays this: the reason$/);
    assert.equal(error.cause, cause);
    return true;
  });
});
