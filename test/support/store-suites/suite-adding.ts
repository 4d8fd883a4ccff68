/** What a store does with animals that are added: their ids, their texts, and the hashes of repeated requests. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers";

import { IdempotencyConflictError, type PetStore } from "../../../src/pets/pet-store.ts";
import { petToJson } from "../../../src/pets/pet.ts";
import type { CreatePlace } from "./place.ts";
import {
  addAll, everyPage, everything, hashOf, idsFrom, manyPets, oddPets, openStore, petOf, rex, statuses, textOf, walk,
} from "./suite-steps.ts";

export function testAdding(name: string, createPlace: CreatePlace): void {
  test(`${name}: ids are 1, 2, 3, … in the order of creation`, async (context) => {
    const store = await openStore(context, createPlace);
    for (const id of [1, 2, 3]) {
      assert.equal((await store.add(rex)).id, id);
    }
  });

  test(`${name}: animals added at once get the next ids, each its own, in the order of the calls`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add(rex);
    const added = await addAll(store, manyPets(500));
    assert.deepEqual(added.map(({ id }) => id), idsFrom(2, 500));
    added.forEach(({ id, json }) => assert.equal(textOf(json), petToJson({ ...petOf(id - 1), id })));
  });

  test(`${name}: animals added at once may have more bytes than one write takes`, async (context) => {
    const store = await openStore(context, createPlace);
    const pets = Array.from({ length: 1_000 }, () => ({ ...rex, name: "\u0001".repeat(255) }));
    assert.deepEqual((await addAll(store, pets)).map(({ id }) => id), idsFrom(1, 1_000));
  });

  test(`${name}: an animal is kept exactly, whatever its members are`, async (context) => {
    const store = await openStore(context, createPlace);
    const pets = oddPets().flatMap((pet) => statuses.map((status) => ({ ...pet, status })));
    const added = await addAll(store, pets);
    const expected = pets.map((pet, index) => petToJson({ ...pet, id: index + 1 }));
    assert.deepEqual(added.map(({ json }) => textOf(json)), expected);
    for (const [index, text] of expected.entries()) {
      assert.equal(textOf(await store.get(index + 1)), text);
    }
    assert.equal(textOf((await store.list(everything)).json), `[${expected.join(",")}]`);
  });

  test(`${name}: an animal that has been added is visible to every reader`, async (context) => {
    const store = await openStore(context, createPlace);
    await Promise.all(
      manyPets(100).map(async (pet) => {
        const { id, json } = await store.add(pet);
        const listing = store.list({ ...everything, after: id - 1, limit: 1 });
        const [alone, listed] = await Promise.all([store.get(id), listing]);
        assert.equal(textOf(alone), textOf(json));
        assert.equal(textOf(listed.json), `[${textOf(json)}]`);
      }),
    );
  });
}

export function testRepeatedAdding(name: string, createPlace: CreatePlace): void {
  test(`${name}: add() with a hash adds one animal, however often it is repeated`, async (context) => {
    const store = await openStore(context, createPlace);
    const first = await store.add(petOf(1), hashOf(1));
    assert.deepEqual([first.id, first.isReplay ?? false], [1, false]);
    for (let time = 0; time < 3; time++) {
      const again = await store.add(petOf(1), hashOf(1));
      assert.deepEqual([again.id, textOf(again.json), again.isReplay], [1, textOf(first.json), true]);
    }
    assert.equal((await store.add(petOf(1), hashOf(2))).id, 2, "another hash adds another animal");
    assert.equal((await store.add(petOf(1))).id, 3, "and so does none");
    assert.equal((await walk(store, everyPage)).length, 3);
  });

  test(`${name}: add() with the hash of another animal throws its error and adds nothing`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add(rex, hashOf(1));
    const others = [...oddPets(), { ...rex, name: `${rex.name} ` }, { ...rex, name: ` ${rex.name}` }];
    for (const other of [...others, { ...rex, status: "sold" as const }]) {
      if (petToJson({ id: 1, ...other }) !== petToJson({ id: 1, ...rex })) {
        await assert.rejects(store.add(other, hashOf(1)), IdempotencyConflictError);
      }
    }
    assert.equal((await store.add(rex, hashOf(1))).id, 1);
    await store.add({ ...rex, name: "\u00e9" }, hashOf(2));
    await assert.rejects(store.add({ ...rex, name: "e\u0301" }, hashOf(2)), IdempotencyConflictError);
    await store.add({ ...rex, categoryId: 2n ** 53n }, hashOf(3));
    await assert.rejects(store.add({ ...rex, categoryId: 2n ** 53n + 1n }, hashOf(3)), IdempotencyConflictError);
    assert.equal((await walk(store, everyPage)).length, 3);
  });

  test(`${name}: 1,000 hashes count, at once, half a second later, and opened again`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    const first = await place.open();
    const addEach = (store: PetStore) =>
      Promise.all(idsFrom(1, 1_000).map((number) => store.add(petOf(number), hashOf(number))));
    const added = await addEach(first);
    const replays = added.map((pet) => ({ id: pet.id, text: textOf(pet.json), isReplay: true }));
    const assertReplayed = async (store: PetStore) => {
      const again = await addEach(store);
      assert.deepEqual(again.map(({ id, json, isReplay }) => ({ id, text: textOf(json), isReplay })), replays);
    };
    await assertReplayed(first);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await assertReplayed(first);
    await first.close();
    const second = await place.open();
    context.after(() => second.close());
    await assertReplayed(second);
    await assert.rejects(second.add(petOf(1), hashOf(2)), IdempotencyConflictError);
    assert.equal((await second.add(rex, hashOf(1_001))).id, 1_001);
  });
}
