/** What a store returns to readers: pages, also while animals are added. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers";

import { type StoredPet } from "../../../src/pets/pet-store.ts";
import { type NewPet, type PetStatus, petToJson } from "../../../src/pets/pet.ts";
import type { CreatePlace } from "./place.ts";
import { seeded, type SeededRandom } from "../seeded-random.ts";
import {
  addAll, assertPage, everything, idsFrom, manyPets, openStore, petOf, petWith, rex, statuses, textOf, walk,
} from "./suite-steps.ts";

export function testReading(name: string, createPlace: CreatePlace): void {
  test(`${name}: no animal has an id that was not assigned`, async (context) => {
    const store = await openStore(context, createPlace);
    for (const count of [0, 1, 2]) {
      for (const id of [count + 1, count + 2, 4_097, 2 ** 32 + count, Number.MAX_SAFE_INTEGER]) {
        assert.equal(await store.get(id), undefined, `id ${id} of ${count}`);
      }
      await store.add(rex);
    }
  });

  test(`${name}: an empty store has one empty page`, async (context) => {
    const store = await openStore(context, createPlace);
    for (const status of [undefined, ...statuses]) {
      for (const after of [0, 1, Number.MAX_SAFE_INTEGER]) {
        await assertPage(store, { after, limit: 1, status }, [], undefined);
      }
    }
  });

  test(`${name}: a page has the first matches with an id above "after"`, seeded(async (random, context) => {
    const store = await openStore(context, createPlace);
    const added = await addAll(store, randomPets(random, 300));
    for (const after of [0, 1, 2, 150, 298, 299, 300, 301, Number.MAX_SAFE_INTEGER]) {
      for (const status of [undefined, ...statuses]) {
        const matches = matchesOf(added, after, status);
        const left = matches.length;
        for (const limit of new Set([1, 2, 20, 100, 101, left - 1, left, left + 1].filter((one) => one > 0))) {
          const page = matches.slice(0, limit);
          await assertPage(store, { after, limit, status }, page, left > limit ? page.at(-1)?.id : undefined);
        }
      }
    }
  }));

  test(`${name}: a status that no animal has matches none, and a status that all have matches all`, async (context) => {
    const store = await openStore(context, createPlace);
    const [one, two] = await addAll(store, [rex, rex]);
    await assertPage(store, { after: 0, limit: 1, status: "sold" }, [], undefined);
    await assertPage(store, { after: 0, limit: 2, status: "available" }, [one, two], undefined);
    await assertPage(store, { after: 0, limit: 1, status: "available" }, [one], 1);
  });
}

export function testReadingWhileAdding(name: string, createPlace: CreatePlace): void {
  test(`${name}: following nextAfter while others are added visits each once`, seeded(async (random, context) => {
    const store = await openStore(context, createPlace);
    const before = await addAll(store, randomPets(random, 200));
    for (const status of [undefined, ...statuses]) {
      const adding = addAll(store, randomPets(random, 200));
      const visited = await walk(store, { limit: 7, status });
      const added = [...before, ...(await adding)];
      const expected = matchesOf(added, 0, status).slice(0, visited.length);
      assert.deepEqual(visited, expected.map(({ json }) => textOf(json)));
      assert.ok(visited.length >= matchesOf(before, 0, status).length, "all that there were at the start");
      before.splice(0, before.length, ...added);
    }
  }));

  test(`${name}: a reader that sees an animal sees all with smaller ids, each with its own text`, async (context) => {
    const store = await openStore(context, createPlace);
    const adding = addAll(store, manyPets(400));
    let isAdding = true;
    const done = adding.then(() => (isAdding = false));
    let seenCount = 0;
    while (isAdding) {
      const text = textOf((await store.list(everything)).json);
      const count = text === "[]" ? 0 : text.split("},{").length;
      assert.equal(text, `[${idsFrom(1, count).map((id) => petToJson({ ...petOf(id), id })).join(",")}]`);
      assert.ok(count >= seenCount, "what was seen stays");
      seenCount = count;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await done;
  });

  test(`${name}: a returned text does not change while animals are added`, async (context) => {
    const store = await openStore(context, createPlace);
    await addAll(store, manyPets(150));
    const kept = [
      await store.get(1),
      (await store.list({ after: 0, limit: 100, status: undefined })).json,
      (await store.list({ after: 140, limit: 100, status: undefined })).json,
      (await store.list({ after: 0, limit: 100, status: "sold" })).json,
    ];
    const texts = kept.map(textOf);
    for (let round = 0; round < 5; round++) {
      await addAll(store, manyPets(1_000));
    }
    assert.deepEqual(kept.map(textOf), texts);
  });
}

const int64s = [0n, 1n, -1n, 123_456_789_012_345n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)];

export function testCategories(name: string, createPlace: CreatePlace): void {
  test(`${name}: a page of a category has its animals alone, exact to the last digit`, seeded(async (random, context) => {
    const store = await openStore(context, createPlace);
    const pets = random.times(300, () => ({
      ...rex, categoryId: random.oneIn(3) ? 1n : random.pick(int64s), status: random.oneIn(9) ? "pending" as const : random.pick(statuses),
    }));
    const added = await addAll(store, pets);
    for (const categoryId of [...int64s, 2n, -(2n ** 53n)]) {
      for (const status of [undefined, ...statuses]) {
        for (const after of [0, 1, 150, 299, 300, 301]) {
          const matches = matchesOf(added, after, status).filter(({ id }) => pets[id - 1]!.categoryId === categoryId);
          const left = matches.length;
          for (const limit of new Set([1, 7, 100, left, left + 1].filter((one) => one > 0))) {
            const page = matches.slice(0, limit);
            const query = { after, limit, status, categoryId };
            const listed = await store.list(query);
            assert.equal(textOf(listed.json), `[${page.map(({ json }) => textOf(json)).join()}]`);
            assert.equal(listed.nextAfter, left > limit ? page.at(-1)?.id : undefined);
          }
        }
      }
    }
  }));
}

/** Of all animals, by id, those that pages with this query have. */
function matchesOf(added: readonly StoredPet[], after: number, status?: PetStatus): readonly StoredPet[] {
  return added.filter(({ id, json }) => {
    const pet = JSON.parse(textOf(json)) as { readonly status: string }; // As the store added it.
    return id > after && (status === undefined || pet.status === status);
  });
}

function randomPets(random: SeededRandom, count: number): NewPet[] {
  return random.times(count, () => {
    // Few are pending, so that some pages come to an end and some do not.
    const status = random.oneIn(10) ? "pending" : random.pick<PetStatus>(["available", "sold"]);
    return petWith(status, ({ kind }) => {
      return kind === "text" ? "🐕é".repeat(random.integer(1, 40)) : BigInt(random.uint32());
    });
  });
}
