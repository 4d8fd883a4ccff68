/**
 * What animals were before they were corrected: how long it is kept, and that every request which is repeated while its
 * hash counts has its first result, whatever was corrected and opened again meanwhile.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { nodeDisk } from "../../src/disk/node-disk.ts";
import { IdempotencyConflictError } from "../../src/pets/pet-store.ts";
import { type NewPet, type PetChange, petToJson } from "../../src/pets/pet.ts";
import { FormerTexts } from "../../src/store/former-texts.ts";
import { idempotencySecondsMax } from "../../src/store/idempotency-table.ts";
import { type JsonLinesPetStore, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { seeded } from "../support/seeded-random.ts";
import { always, hashOf, ifMatch } from "../support/store-suites/suite-steps.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("FormerTexts keeps a text as long as a hash counts that is older than its correction, and drops it after two days", seeded((random) => {
  const texts = new FormerTexts();
  const added: number[] = [];
  let nowSeconds = random.integer(-1_000, 1_000_000);
  for (let id = 1; id <= 1_000; id++) {
    nowSeconds += random.oneIn(50) ? idempotencySecondsMax - random.integer(0, 1) : random.integer(0, 2_000);
    texts.add(id, { until: 1, text: `text ${id}` }, nowSeconds);
    added.push(nowSeconds);
    added.forEach((atSeconds, index) => {
      const text = texts.find(index + 1, 1);
      if (nowSeconds - atSeconds < idempotencySecondsMax) {
        assert.equal(text, `text ${index + 1}`);
      }
    });
  }
  texts.add(0, { until: 1, text: "" }, nowSeconds + idempotencySecondsMax);
  texts.add(0, { until: 1, text: "" }, nowSeconds + 2 * idempotencySecondsMax);
  assert.equal(texts.find(1_000, 1), undefined);
}));

interface Request {
  readonly hash: string;
  readonly atMs: number;
  readonly id: number;
  /** Of an add. */
  readonly newPet?: NewPet;
  readonly change?: PetChange;
  readonly json: string;
  readonly version: number;
}

async function assertReplay(store: JsonLinesPetStore, { hash, id, newPet, change, json, version }: Request): Promise<void> {
  if (newPet !== undefined) {
    assert.deepEqual(await store.add(newPet, hash), { id, json, isReplay: true });
    await assert.rejects(store.add({ ...newPet, categoryId: newPet.categoryId + 1n }, hash), IdempotencyConflictError);
  }
  if (change !== undefined) {
    const expected = { kind: "changed", json, version, isReplay: true };
    assert.deepEqual(await store.change(id, change, ifMatch(), hash), expected);
    for (const [name, value] of Object.entries(change)) {
      assert.deepEqual(await store.change(id, { [name]: value }, ifMatch(), hash), expected, `${name} alone is part of it`);
    }
    await assert.rejects(store.change(id, { ...change, name: "another" }, always, hash), IdempotencyConflictError);
  }
}

test("for a day each repeated request has its first result, whatever was corrected and opened again", seeded(async (random, context) => {
  const dataDir = temporaryFolder(context);
  const clock = new ManualClock();
  const open = (): Promise<JsonLinesPetStore> => openPetStore({ disk: nodeDisk, dataDir, clock, report: assert.fail });
  let store = await open();
  const pets: NewPet[] = [];
  const requests: Request[] = [];
  for (let step = 0; step < 150; step++) {
    const hash = hashOf(step);
    const name = random.pick(["Rex", "Ö", "x".repeat(100)]);
    const categoryId = BigInt(random.integer(1, 3));
    if (pets.length < 3) {
      const newPet = { name, categoryId, status: "available" } as const;
      const { id, json } = await store.add(newPet, hash);
      pets.push(newPet);
      requests.push({ hash, atMs: clock.monotonicMs(), id, newPet, json: String(json), version: 1 });
    } else {
      const id = random.integer(1, pets.length);
      const change = random.pick<PetChange>([{ name }, { categoryId }, { name, categoryId, status: "pending" }, { status: "sold" }]);
      pets[id - 1] = { ...pets[id - 1], ...change } as NewPet; // The animal is there, and no value is undefined.
      const outcome = await store.change(id, change, always, hash);
      assert.ok(outcome.kind === "changed" && outcome.version !== undefined);
      const json = petToJson({ ...pets[id - 1]!, id });
      assert.equal(outcome.json, json);
      requests.push({ hash, atMs: clock.monotonicMs(), id, change, json, version: outcome.version });
    }
    clock.advance(random.integer(0, 2) * random.integer(0, 7_200_000));
    if (random.oneIn(4)) {
      await store.close();
      store = await open();
    }
    for (const request of requests.filter(({ atMs }) => clock.monotonicMs() - atMs <= 24 * 3_600_000)) {
      await assertReplay(store, request);
    }
  }
  await store.close();
}));
