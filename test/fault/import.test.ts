/**
 * An import that a failing disk ends half-way, at each of its calls: the animals that were reported to be on disk are
 * there, they are the first of the file, and no others are there.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { OutcomeUnknownError } from "../../src/pets/pet-store.ts";
import type { NewPet } from "../../src/pets/pet.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { addInBatches } from "../../src/store/add-in-batches.ts";
import { SeededRandom, seeded } from "../support/seeded-random.ts";
import { type Fault, SimulatedDisk } from "../support/simulated-disk.ts";

const dataDir = "/pets";
const animalCount = 1_500;

/** Names that take six bytes a character, so that a few hundred fill a group. */
async function* longNames(): AsyncGenerator<NewPet> {
  for (let index = 0; index < animalCount; index++) {
    yield { name: `${index} ${"\u0001".repeat(250)}`, categoryId: 1n, status: "sold" };
  }
}

interface Imported {
  readonly outcome: "done" | "refused" | "unknown";
  readonly reportedCounts: readonly number[];
  readonly keptCount: number;
  readonly calls: number;
}

async function importWithFault(random: SeededRandom, nth: number, fault: Fault): Promise<Imported> {
  const disk = new SimulatedDisk(random);
  const report = (): void => undefined;
  const store = await openPetStore({ disk: disk.boot(), dataDir, report });
  const firstCall = disk.calls;
  disk.plan = (call) => (call - firstCall === nth ? fault : "none");
  const reportedCounts: number[] = [];
  const outcome = await addInBatches(store, longNames(), (count) => void reportedCounts.push(count)).then(
    () => "done" as const,
    (error: unknown) => (error instanceof OutcomeUnknownError ? "unknown" as const : "refused" as const),
  );
  const calls = disk.calls - firstCall;
  disk.losePower();
  disk.plan = () => "none";
  const reopened = await openPetStore({ disk: disk.boot(), dataDir, report });
  const { json } = await reopened.list({ after: 0, limit: animalCount, status: undefined });
  const kept = JSON.parse(Buffer.from(json).toString()) as { name: string }[]; // The store's own JSON.
  kept.forEach(({ name }, index) => assert.ok(name.startsWith(`${index} `), `animal ${index} is ${name}`));
  return { outcome, reportedCounts, keptCount: kept.length, calls };
}

test("an undisturbed import writes several groups, and reports each when it is on disk", async () => {
  const { outcome, reportedCounts, keptCount } = await importWithFault(new SeededRandom(1), 0, "none");
  assert.deepEqual([outcome, keptCount, reportedCounts.at(-1)], ["done", animalCount, animalCount]);
  assert.ok(reportedCounts.length > 2, String(reportedCounts));
});

for (const fault of ["error", "short"] as const) {
  test(`after an import whose Nth call fails (${fault}), the reported animals are there, for every N`, seeded(
    async (random) => {
      const { calls } = await importWithFault(new SeededRandom(random.uint32()), 0, "none");
      let brokenOffCount = 0;
      for (let nth = 1; nth <= calls; nth++) {
        const { outcome, reportedCounts, keptCount } = await importWithFault(new SeededRandom(random.uint32()), nth, fault);
        const reportedCount = reportedCounts.at(-1) ?? 0;
        const isRight = outcome === "unknown" ? keptCount >= reportedCount : keptCount === reportedCount;
        assert.ok(isRight, `call ${nth}: ${outcome}, ${reportedCount} reported, ${keptCount} kept`);
        brokenOffCount += outcome !== "done" && reportedCount > 0 ? 1 : 0;
      }
      assert.ok(brokenOffCount > 1, "some were broken off half-way");
    },
  ));
}
