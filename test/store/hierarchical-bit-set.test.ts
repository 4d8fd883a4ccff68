/**
 * The set of ids against a naive model: a sorted array.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { HierarchicalBitSet } from "../../src/store/hierarchical-bit-set.ts";
import { seeded } from "../support/seeded-random.ts";

/** On both sides of every border between words, at each level. */
const borders = [1, 2, 31, 32, 33, 1_023, 1_024, 1_025, 32_767, 32_768, 32_769, 2 ** 20, 2 ** 20 + 1, 2 ** 25 + 1];

test("HierarchicalBitSet.next() is the least id from there on, whatever was added and deleted", seeded((random) => {
  for (let round = 0; round < 30; round++) {
    const set = new HierarchicalBitSet();
    const model = new Set<number>();
    for (let step = 0; step < 200; step++) {
      const id = random.oneIn(2) ? random.pick(borders) : random.integer(1, random.pick([40, 2_000, 100_000]));
      if (model.delete(id)) {
        set.delete(id);
      } else {
        model.add(id);
        set.add(id);
      }
      const from = random.oneIn(2) ? random.pick([...borders, id + 1]) : random.integer(1, 100_000);
      const expected = Math.min(...[...model].filter((one) => one >= from));
      assert.equal(set.next(from), expected === Infinity ? undefined : expected, `from ${from} of ${[...model].join()}`);
    }
  }
}));
