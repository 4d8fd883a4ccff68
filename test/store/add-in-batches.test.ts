import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import { test } from "node:test";

import { nodeDisk } from "../../src/disk/node-disk.ts";
import { nameCodePointsMax, type NewPet } from "../../src/pets/pet.ts";
import { addInBatches, batchLength } from "../../src/store/add-in-batches.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

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

test("a batch of animals with the longest names is one group of the log", async (context) => {
  const dataDir = temporaryFolder(context);
  const store = await openPetStore({ disk: nodeDisk, dataDir, report: assert.fail });
  const name = "\u0001".repeat(nameCodePointsMax); // Each is six bytes in JSON.
  await Promise.all(Array.from({ length: batchLength }, () => store.add({ name, categoryId: -(2n ** 63n), status: "available" })));
  await store.close();
  const groups = readFileSync(join(dataDir, "pets.jsonl"), "utf8").match(/"group":\d+/g);
  assert.deepEqual(groups, Array.from({ length: batchLength }, () => '"group":1'));
});
