import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { nodeDisk } from "../../src/disk/node-disk.ts";
import { addBatch, batchLength } from "../../src/pets/add-in-batches.ts";
import { OutcomeUnknownError, StorageUnavailableError } from "../../src/pets/pet-store.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a batch of animals with the longest names is one group of the log", async (context) => {
  const dataDir = temporaryFolder(context);
  const store = await openPetStore({ disk: nodeDisk, dataDir, report: assert.fail });
  const name = "\u0001".repeat(255); // Each is six bytes in JSON.
  await Promise.all(Array.from({ length: batchLength }, () => store.add({ name, categoryId: -(2n ** 63n), status: "available" })));
  await store.close();
  const groups = readFileSync(join(dataDir, "pets.jsonl"), "utf8").match(/"group":\d+/g);
  assert.deepEqual(groups, Array.from({ length: batchLength }, () => '"group":1'));
});

const newPet = { name: "Rex", categoryId: 1n, status: "available" } as const;

for (const [what, outcomes, addedCount, failure] of [
  ["all were", "aaa", 3, undefined],
  ["none of the others were", "aff", 1, StorageUnavailableError],
  ["others after the first failure were", "affa", 1, OutcomeUnknownError],
  ["others after it may have been", "fu", 0, OutcomeUnknownError],
  ["the first failure is in doubt", "auf", 1, OutcomeUnknownError],
] as const) {
  test(`addBatch() says how many were added for sure, and whether others may be: ${what}`, async () => {
    let count = 0;
    const add = async (): Promise<{ id: number; json: string }> => {
      const outcome = outcomes[count++];
      if (outcome !== "a") {
        throw outcome === "f" ? new StorageUnavailableError("the disk is full") : new OutcomeUnknownError("a sync failed");
      }
      return { id: count, json: "" };
    };
    const added = await addBatch({ add }, Array.from(outcomes, () => newPet));
    assert.deepEqual([added.addedCount, added.failure?.constructor], [addedCount, failure]);
  });
}
