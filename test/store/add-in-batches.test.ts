import assert from "node:assert/strict";
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import { test } from "node:test";

import type { NewPet } from "../../src/pets/pet.ts";
import { addInBatches } from "../../src/store/add-in-batches.ts";

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
  await addInBatches(store, newPets(12), (count) => void addedCounts.push(count), 5);
  assert.deepEqual([Math.max(...waitingCounts), addedCounts], [5, [5, 10, 12]]);
  assert.deepEqual(names, Array.from({ length: 12 }, (_, index) => `Animal ${index + 1}`));
});
