/** What a store with removals does with removals, and what is left of a removed animal. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { IdempotencyConflictError, type RemovalOutcome, StorageUnavailableError } from "../../../src/pets/pet-store.ts";
import { petToJson } from "../../../src/pets/pet.ts";
import type { CreatePlace } from "./place.ts";
import { seeded } from "../seeded-random.ts";
import {
  addAll, always, assertChanged, changeStatus, everyPage, free, hashOf, idsFrom, ifMatch, manyPets, openStore, petOf,
  reserve, rex, statuses, textOf, toSold, walk,
} from "./suite-steps.ts";

function assertRemoved(outcome: RemovalOutcome, isReplay = false): void {
  assert.ok(outcome.kind === "removed", outcome.kind);
  assert.equal(outcome.isReplay === true, isReplay, "whether an earlier removal is said to have had this result");
}

export function testRemoving(name: string, createPlace: CreatePlace): void {
  test(`${name}: a removed animal is nowhere and stays so, and its id is not given again`, async (context) => {
    const store = await openStore(context, createPlace);
    await addAll(store, manyPets(3));
    for (const id of [3, 1]) {
      assertRemoved(await store.remove(id, always));
      assert.equal(await store.get(id), undefined);
      assert.deepEqual(await changeStatus(store, id, free), { kind: "absent" });
      assert.deepEqual(await changeStatus(store, id, free, hashOf(id)), { kind: "absent" });
      assert.deepEqual(await store.remove(id, always), { kind: "absent" });
      assert.deepEqual(await store.remove(id, always, hashOf(id)), { kind: "absent" });
    }
    assert.deepEqual(await walk(store, everyPage), [petToJson({ ...petOf(2), id: 2 })]);
    assert.equal((await store.add(rex)).id, 4);
  });

  test(`${name}: pages have the animals that are left, opened again too`, seeded(async (random) => {
    const place = await createPlace();
    let store = await place.open();
    const pets = new Map(manyPets(400).map((pet, index) => [index + 1, pet]));
    await addAll(store, [...pets.values()]);
    for (const keptOf of [2, 10, 400]) {
      const gone = [...pets.keys()].filter(() => !random.oneIn(keptOf));
      await Promise.all(gone.map((id) => store.remove(id, always)));
      gone.forEach((id) => pets.delete(id));
      const left = Array.from(pets, ([id, pet]) => ({ ...pet, id }));
      for (let life = 1; life <= 2; life++) {
        for (const status of [undefined, ...statuses]) {
          const expected = left.filter((pet) => status === undefined || pet.status === status).map(petToJson);
          for (const limit of [1, 7, 100]) {
            assert.deepEqual(await walk(store, { limit, status }), expected);
          }
        }
        await store.close();
        store = await place.open();
      }
    }
    await store.close();
    await place.remove();
  }));

  test(`${name}: after close(), a removal fails`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add(rex);
    await store.close();
    await assert.rejects(store.remove(1, always), StorageUnavailableError);
    await assert.rejects(store.remove(1, always, hashOf(1)), StorageUnavailableError);
  });
}

export function testConditionalRemoving(name: string, createPlace: CreatePlace): void {
  test(`${name}: of removals and changes of one animal at once, out of one status, one succeeds`, async (context) => {
    const store = await openStore(context, createPlace);
    const from = ["available"] as const;
    for (let id = 1; id <= 20; id++) {
      await store.add({ ...rex, status: "available" });
      const hash = (number: number): string | undefined => (id % 2 === 0 ? hashOf(100 * id + number) : undefined);
      const outcomes = await Promise.all(idsFrom(1, 20).map(async (number) => {
        return (number + id) % 3 === 0
          ? store.remove(id, ifMatch(...from), hash(number))
          : changeStatus(store, id, { status: number % 2 === 0 ? "sold" : "pending", from }, hash(number));
      }));
      const done = outcomes.filter(({ kind }) => kind === "removed" || kind === "changed");
      assert.equal(done.length, 1, `animal ${id}`);
      assert.equal((await store.get(id)) === undefined, done[0]?.kind === "removed");
    }
  });

  test(`${name}: a removal out of other statuses says which the animal has, and removes nothing`, async (context) => {
    const store = await openStore(context, createPlace);
    await addAll(store, statuses.map((status) => ({ ...rex, status })));
    const before = await walk(store, everyPage);
    for (const [index, status] of statuses.entries()) {
      for (const from of [[], statuses.filter((one) => one !== status)]) {
        for (const hash of [undefined, hashOf(1)]) {
          const mismatch = { kind: "mismatch", status, version: 1 };
          assert.deepEqual(await store.remove(index + 1, ifMatch(...from), hash), mismatch);
        }
      }
    }
    assert.deepEqual(await walk(store, everyPage), before);
    assert.equal((await store.add(rex, hashOf(1))).id, 4, "it is not remembered");
  });

  test(`${name}: a removal of an id that was never given is "absent", with any hash`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add(rex, hashOf(1));
    for (const id of [2, 4_097, Number.MAX_SAFE_INTEGER]) {
      for (const hash of [undefined, hashOf(1), hashOf(2)]) {
        assert.deepEqual(await store.remove(id, always, hash), { kind: "absent" }, `id ${id}`);
      }
    }
  });
}

export function testRemovedReplays(name: string, createPlace: CreatePlace): void {
  test(`${name}: what is repeated after the animal was removed has its first result`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    for (const life of [1, 2, 3]) {
      const store = await place.open();
      const isReplay = life > 1;
      const { id, json } = await store.add(rex, hashOf(1));
      assert.deepEqual([id, textOf(json)], [1, petToJson({ ...rex, id: 1 })]);
      const pending = petToJson({ ...rex, id: 1, status: "pending" });
      assertChanged(await changeStatus(store, 1, reserve, hashOf(2)), pending, isReplay);
      assertRemoved(await store.remove(1, ifMatch("pending"), hashOf(3)), isReplay);

      const again = await store.add(rex, hashOf(1));
      assert.deepEqual([again.id, textOf(again.json), again.isReplay], [1, petToJson({ ...rex, id: 1 }), true]);
      assertChanged(await changeStatus(store, 1, { ...reserve, from: [] }, hashOf(2)), pending, true);
      assertRemoved(await store.remove(1, ifMatch(), hashOf(3)), true);

      for (const hash of [1, 2, 3].map(hashOf)) {
        await assert.rejects(store.add({ ...rex, status: "sold" }, hash), IdempotencyConflictError);
        await assert.rejects(changeStatus(store, 1, toSold, hash), IdempotencyConflictError);
      }
      await assert.rejects(store.remove(1, always, hashOf(1)), IdempotencyConflictError);
      await assert.rejects(store.remove(1, always, hashOf(2)), IdempotencyConflictError);
      await assert.rejects(changeStatus(store, 1, reserve, hashOf(3)), IdempotencyConflictError);
      assert.deepEqual(await walk(store, everyPage), [], "nothing is added");
      await store.close();
    }
    const store = await place.open();
    assert.equal((await store.add(rex)).id, 2);
    await store.close();
  });
}
