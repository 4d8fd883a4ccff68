import assert from "node:assert/strict";
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import { test } from "node:test";

import type { NewPet } from "../../src/pets/pet.ts";
import { addInBatches, batchLength } from "../../src/store/add-in-batches.ts";

async function* newPets(count: number): AsyncGenerator<NewPet> {
  for (let index = 1; index <= count; index++) {
    yield { name: `Animal ${index}`, categoryId: 1n, status: "available" };
  }
}

test("addInBatches() gives a store at most a batch at a time, in order, and reports what was added", async () => {
  const waitingCounts: number[] = [];
  const names: string[] = [];
  let waitingCount = 0;
  const store = {
    async add({ name }: NewPet) {
      names.push(name);
      waitingCounts.push(++waitingCount);
      await eventLoopTurn();
      waitingCount--;
      return { id: names.length, json: "{}" };
    },
  };
  const addedCounts: number[] = [];
  const count = 2 * batchLength + 1;
  await addInBatches(store, newPets(count), (addedCount) => void addedCounts.push(addedCount));
  assert.deepEqual([Math.max(...waitingCounts), addedCounts], [batchLength, [batchLength, 2 * batchLength, count]]);
  assert.deepEqual(names, Array.from({ length: count }, (_, index) => `Animal ${index + 1}`));
});
