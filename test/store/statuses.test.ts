/**
 * A release with further statuses: of any length, and also if one begins with another. The line's reader makes its
 * tables when it is loaded, so it is loaded here after the statuses have been added.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { nodeDisk } from "../../src/disk/node-disk.ts";
import { type PetStatus, petStatuses } from "../../src/pets/pet.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("the catalogue keeps an animal of any status across a restart", async (context) => {
  const added = ["sold_out", "so", "n", "new", "available until the end of the month of November"];
  const statuses = petStatuses as unknown as string[];
  statuses.push(...added);
  const { openPetStore } = await import("../../src/store/json-lines-pet-store.ts");
  const dataDir = temporaryFolder(context);
  const open = () => openPetStore({ disk: nodeDisk, dataDir, report: assert.fail });
  const store = await open();
  await Promise.all(petStatuses.map((status) => store.add({ name: "Rex", categoryId: 1n, status })));
  await store.close();
  const again = await open();
  for (const [index, status] of statuses.entries()) {
    const { json } = again.list({ after: 0, limit: 10, status: status as PetStatus });
    assert.equal(Buffer.from(json).toString(), `[{"id":${index + 1},"name":"Rex","categoryId":1,"status":"${status}"}]`);
  }
  await again.close();
});
