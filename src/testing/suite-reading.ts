/** What a store returns to readers: pages, also while animals are added. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers";

import { type NewStorePet, type PetStatus, type PetStore, petToJson, type StoredPet } from "../index.ts";
import type { CreatePlace } from "./place.ts";
import { seeded, type SeededRandom } from "./seeded-random.ts";
import {
  addAll, assertPage, everything, idsFrom, manyPets, openStore, petOf, petWith, rex, statuses, textOf, walk, withStore,
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
        assertPage(await store.list({ after, limit: 1, status }), [], undefined);
      }
    }
  });

  test(`${name}: a page has the first matches with an id above "after"`, seeded(async (random) => {
    await withStore(createPlace, async (store) => {
      const model = new Model(await addAll(store, randomPets(random, 300)));
      for (const after of [0, 1, 2, 150, 298, 299, 300, 301, Number.MAX_SAFE_INTEGER]) {
        for (const status of [undefined, ...statuses]) {
          const left = model.matchCount(after, status);
          for (const limit of new Set([1, 2, 20, 100, 101, left - 1, left, left + 1].filter((one) => one > 0))) {
            await model.check(store, { after, limit, status });
          }
        }
      }
    });
  }));

  test(`${name}: a status that no animal has matches none, and a status that all have matches all`, async (context) => {
    const store = await openStore(context, createPlace);
    const [one, two] = await addAll(store, [rex, rex]);
    assertPage(await store.list({ after: 0, limit: 1, status: "sold" }), [], undefined);
    assertPage(await store.list({ after: 0, limit: 2, status: "available" }), [one, two], undefined);
    assertPage(await store.list({ after: 0, limit: 1, status: "available" }), [one], 1);
  });
}

export function testReadingWhileAdding(name: string, createPlace: CreatePlace): void {
  test(`${name}: following nextAfter while animals are added visits each once, by id`, seeded(async (random) => {
    await withStore(createPlace, async (store) => {
      const before = await addAll(store, randomPets(random, 200));
      for (const status of [undefined, ...statuses]) {
        const adding = addAll(store, randomPets(random, 200));
        const visited = await walk(store, { limit: 7, status });
        const added = [...before, ...(await adding)];
        const model = new Model(added);
        const expected = model.texts(0, status).slice(0, visited.length);
        assert.deepEqual(visited, expected);
        assert.ok(visited.length >= new Model(before).matchCount(0, status), "all that there were at the start");
        before.splice(0, before.length, ...added);
      }
    });
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

/** The animals as an array that is filtered and sliced. */
class Model {
  readonly #animals: readonly { readonly id: number; readonly status: string; readonly text: string }[];

  constructor(added: readonly StoredPet[]) {
    this.#animals = added.map(({ id, json }) => {
      const text = textOf(json);
      return { id, text, status: (JSON.parse(text) as { status: string }).status }; // A Pet, as the store added it.
    });
  }

  texts(after: number, status: PetStatus | undefined): string[] {
    return this.#matches(after, status).map(({ text }) => text);
  }

  matchCount(after: number, status: PetStatus | undefined): number {
    return this.#matches(after, status).length;
  }

  async check(store: PetStore, query: { after: number; limit: number; status: PetStatus | undefined }): Promise<void> {
    const matches = this.#matches(query.after, query.status);
    const expected = matches.slice(0, query.limit);
    const { json, nextAfter } = await store.list(query);
    const asked = JSON.stringify(query);
    assert.equal(textOf(json), `[${expected.map(({ text }) => text).join(",")}]`, asked);
    assert.equal(nextAfter, matches.length > query.limit ? expected.at(-1)?.id : undefined, asked);
  }

  #matches(after: number, status: PetStatus | undefined): { readonly id: number; readonly text: string }[] {
    return this.#animals.filter((one) => one.id > after && (status === undefined || one.status === status));
  }
}

function randomPets(random: SeededRandom, count: number): NewStorePet[] {
  return random.times(count, () => {
    // Few are pending, so that some pages come to an end and some do not.
    const status = random.oneIn(10) ? "pending" : random.pick<PetStatus>(["available", "sold"]);
    return petWith(status, ({ kind }) => {
      return kind === "text" ? "🐕é".repeat(random.integer(1, 40)) : BigInt(random.uint32());
    });
  });
}
