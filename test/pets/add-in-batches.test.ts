import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { nodeDisk } from "../../src/disk/node-disk.ts";
import { nameCodePointsMax } from "../../src/pets/pet.ts";
import { batchLength } from "../../src/pets/add-in-batches.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a batch of animals with the longest names is one group of the log", async (context) => {
  const dataDir = temporaryFolder(context);
  const store = await openPetStore({ disk: nodeDisk, dataDir, report: assert.fail });
  const name = "\u0001".repeat(nameCodePointsMax); // Each is six bytes in JSON.
  await Promise.all(Array.from({ length: batchLength }, () => store.add({ name, categoryId: -(2n ** 63n), status: "available" })));
  await store.close();
  const groups = readFileSync(join(dataDir, "pets.jsonl"), "utf8").match(/"group":\d+/g);
  assert.deepEqual(groups, Array.from({ length: batchLength }, () => '"group":1'));
});
