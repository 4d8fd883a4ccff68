/**
 * The suites that every store has to pass, run against ours and against an embedder's.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { nodeDisk } from "../../src/disk/node-disk.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { testPetStore, testStatusChanges } from "../../src/testing/index.ts";
import { ExampleEngine, ExampleStore } from "../../src/testing/example-store.ts";

for (const testStore of [testPetStore, testStatusChanges]) {
  testStore("JsonLinesPetStore", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "animal-store-suite-"));
    return {
      open: () => openPetStore({ disk: nodeDisk, dataDir, report: () => undefined }),
      remove: () => rm(dataDir, { recursive: true }),
    };
  });

  testStore("ExampleStore", async () => {
    const engine = new ExampleEngine();
    return { open: async () => new ExampleStore(engine), remove: async () => undefined };
  });
}
