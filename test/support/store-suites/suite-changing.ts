/** What a store with changes of animals does with changes, and what readers see of them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers";

import { StorageUnavailableError } from "../../../src/pets/pet-store.ts";
import { type NewPet, petToJson } from "../../../src/pets/pet.ts";
import type { CreatePlace } from "./place.ts";
import { seeded } from "../seeded-random.ts";
import {
  addAll, changeStatus, everyPage, free, hashOf, idsFrom, manyPets, openStore, petOf, reserve, rex, statuses, textOf,
  toSold, walk,
} from "./suite-steps.ts";

export function testChanging(name: string, createPlace: CreatePlace): void {
  test(`${name}: a change out of other statuses says which the animal has, and changes nothing`, async (context) => {
    const store = await openStore(context, createPlace);
    await addAll(store, statuses.map((status) => ({ ...rex, status })));
    const before = await walk(store, everyPage);
    for (const [index, status] of statuses.entries()) {
      for (const from of [[], statuses.filter((one) => one !== status)]) {
        for (const to of statuses) {
          const mismatch = { kind: "mismatch", status, version: 1 };
          assert.deepEqual(await changeStatus(store, index + 1, { status: to, from }), mismatch);
        }
      }
    }
    assert.deepEqual(await walk(store, everyPage), before);
  });

  test(`${name}: a page of a status has only animals of it, also while they change`, async (context) => {
    const store = await openStore(context, createPlace);
    await addAll(store, Array<NewPet>(40).fill(rex));
    for (const [status, change] of [["available", toSold], ["sold", free]] as const) {
      const listing = store.list({ after: 0, limit: 40, status });
      await Promise.all(idsFrom(1, 40).reverse().map((id) => changeStatus(store, id, change)));
      const pets = JSON.parse(textOf((await listing).json) ?? "") as { readonly status: string }[];
      assert.deepEqual(pets.filter((pet) => pet.status !== status), []);
    }
  });

  test(`${name}: a change of an id that no animal has is "absent", with a hash too`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add(rex, hashOf(1));
    for (const id of [2, 3, 4_097, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]) {
      for (const hash of [undefined, hashOf(1), hashOf(2)]) {
        assert.deepEqual(await changeStatus(store, id, toSold, hash), { kind: "absent" }, `id ${id}`);
      }
    }
    assert.equal((await store.add(petOf(2), hashOf(2))).id, 2, "it is not remembered");
  });
}

export function testKeepingChanges(name: string, createPlace: CreatePlace): void {
  test(`${name}: after close(), a change that would store something fails`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add(rex);
    await store.close();
    await assert.rejects(changeStatus(store, 1, reserve), StorageUnavailableError);
    await assert.rejects(changeStatus(store, 1, reserve, hashOf(1)), StorageUnavailableError);
  });

  test(`${name}: close() settles every change: opened again, the store has what was changed`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    const store = await place.open();
    await addAll(store, Array<NewPet>(100).fill(rex));
    const work = Promise.allSettled(idsFrom(1, 100).map((id) => changeStatus(store, id, toSold)));
    let isSettled = false;
    void work.then(() => (isSettled = true));
    await store.close();
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(isSettled, "close() waits for every change");
    const again = await place.open();
    context.after(() => again.close());
    for (const [index, outcome] of (await work).entries()) {
      const isChanged = outcome.status === "fulfilled";
      assert.ok(isChanged || outcome.reason instanceof StorageUnavailableError, `change ${index}`);
      const expected = petToJson({ ...rex, id: index + 1, status: isChanged ? "sold" : "available" });
      assert.equal(textOf(await again.get(index + 1)), expected);
    }
  });
}

export function testReadingWhileChanging(name: string, createPlace: CreatePlace): void {
  test(`${name}: a walk lists each animal at most once, and each that stays`, seeded(async (random, context) => {
    const store = await openStore(context, createPlace);
    await addAll(store, idsFrom(1, 200).map((id) => ({ ...rex, name: `Rex ${id}` })));
    for (const status of ["available", undefined] as const) {
      const moved = new Set<number>();
      let isWalking = true;
      const moving = (async () => {
        while (isWalking) {
          const id = random.integer(1, 100) * 2;
          moved.add(id);
          await changeStatus(store, id, { status: random.pick(statuses), from: statuses });
        }
      })();
      const seen = (await walk(store, { limit: 7, status })).map((text) => (JSON.parse(text) as { id: number }).id);
      isWalking = false;
      await moving;
      assert.deepEqual(seen, [...new Set(seen)].sort((one, other) => one - other), "by id, each at most once");
      const still = idsFrom(1, 100).map((half) => half * 2 - 1);
      assert.deepEqual(seen.filter((id) => id % 2 === 1), still, "each that does not change");
      assert.ok(moved.size > 0);
    }
  }));

  test(`${name}: a returned text does not change while animals change`, async (context) => {
    const store = await openStore(context, createPlace);
    const [added] = await addAll(store, manyPets(20));
    const outcome = await changeStatus(store, 1, free);
    assert.ok(outcome.kind === "changed");
    const kept = [added?.json, outcome.json, await store.get(1), (await store.list({ ...everyPage, after: 0 })).json];
    const texts = kept.map(textOf);
    for (const change of [toSold, free, toSold]) {
      await Promise.all(idsFrom(1, 20).map((id) => changeStatus(store, id, change)));
      assert.deepEqual(kept.map(textOf), texts);
    }
  });

  test(`${name}: pages have what each change left, whatever they filter by`, seeded(async (random, context) => {
    const store = await openStore(context, createPlace);
    const model = manyPets(150).map((pet, index) => ({ ...pet, id: index + 1 }));
    await addAll(store, manyPets(150));
    for (let round = 0; round < 10; round++) {
      const ids = new Set(random.times(30, () => random.integer(1, 150)));
      const changes = [...ids].map((id) => ({ id, status: random.pick(statuses), from: [random.pick(statuses)] }));
      const outcomes = await Promise.all(changes.map(({ id, ...change }) => changeStatus(store, id, change)));
      for (const [index, { id, status, from }] of changes.entries()) {
        const pet = model[id - 1]!; // The animal exists.
        const expected = from.includes(pet.status) ? "changed" : "mismatch";
        assert.equal(outcomes[index]?.kind, expected);
        model[id - 1] = expected === "changed" ? { ...pet, status } : pet;
      }
      for (const status of [undefined, ...statuses]) {
        const texts = model.filter((pet) => status === undefined || pet.status === status).map(petToJson);
        assert.deepEqual(await walk(store, { limit: random.integer(1, 60), status }), texts);
      }
    }
  }));
}
