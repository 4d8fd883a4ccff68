/**
 * A release with further statuses: of any length, and also if one begins with another. The line's reader makes its
 * tables when it is loaded, so it is loaded here after the statuses have been added.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { nodeDisk } from "../../src/disk/node-disk.ts";
import { type PetStatus, petStatuses } from "../../src/pets/pet.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("the catalogue keeps an animal of any status, and any change of it, across a restart", async (context) => {
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
  await Promise.all(
    petStatuses.map((_status, index) => {
      const match = [petStatuses[index]!]; // The index is within the array.
      const change = { status: petStatuses.at(index - 1)! };
      return again.change(index + 1, change, { match, noneMatch: [] }, `${index}`.padStart(22, "a"));
    }),
  );
  await again.close();
  const last = await open();
  for (const [index] of statuses.entries()) {
    const status = petStatuses.at(index - 1)!; // Any index above -length is.
    const json = `{"id":${index + 1},"name":"Rex","categoryId":1,"status":"${status}"}`;
    assert.deepEqual(last.get(index + 1), { json, version: 2 });
    const repeated = await last.change(index + 1, { status }, { match: [], noneMatch: [] }, `${index}`.padStart(22, "a"));
    assert.deepEqual(repeated, { kind: "changed", json, version: 2, isReplay: true });
  }
  await last.close();
});
