/**
 * The suites that every store has to pass, run against the one of a folder.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { nodeDisk } from "../../src/disk/node-disk.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { testPetStore } from "../support/store-suites/index.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

testPetStore("JsonLinesPetStore", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "animal-store-suite-"));
  return {
    open: () => openPetStore({ disk: nodeDisk, dataDir, report: () => undefined }),
    remove: () => rm(dataDir, { recursive: true }),
  };
});

test("as many of the longest animals as memory holds in one block come back as they were", async (context) => {
  const dataDir = temporaryFolder(context);
  const store = await openPetStore({ disk: nodeDisk, dataDir, report: () => undefined });
  const longest = { name: "\u0001".repeat(255), categoryId: -(2n ** 63n), status: "available" } as const;
  for (const { id, json } of await Promise.all(Array.from({ length: 4_096 }, () => store.add(longest)))) {
    assert.ok(store.get(id)?.json === json, `animal ${id}`);
  }
  await store.close();
});
