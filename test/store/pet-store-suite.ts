/**
 * What every store has to do (src/pets/pet-store.ts), as tests that any store can be put through: ours, one of an
 * embedder's, a shared one to come. What a crash may do to a store is for tests of its own.
 */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import {
  type JsonText,
  type NewPet,
  IdempotencyConflictError,
  type PetPage,
  type PetStatus,
  type PetStore,
  petToJson,
  StorageUnavailableError,
  type StoredPet,
} from "../../src/index.ts";
import { seeded, type SeededRandom } from "../support/seeded-random.ts";

/** Where animals are kept, such as a folder or an engine: it is there before a store is opened on it, and after. */
export interface StorePlace {
  open(): Promise<PetStore>;
  remove(): Promise<void>;
}

export const statuses: readonly PetStatus[] = ["available", "pending", "sold"];
const rex: NewPet = { name: "Rex", categoryId: 1n, status: "available" };
const everything = { after: 0, limit: 100_000, status: undefined };

const oddNames = [
  "x",
  "x".repeat(255),
  "🐕".repeat(255),
  " a ",
  '"\\/{}[],:',
  "\u0001\u001f\t\r\n\u007f",
  "\u0001".repeat(255),
  "\u0080\u0085\u2028\u2029\ufeff\ufffd\uffff",
  "é e\u0301 小白 ﷽ \u202eabc \u{10ffff}",
  '","status":"sold","group":1,"crc":"00000000"}\n{"id":7',
  "__proto__",
];

const int64s = [0n, 1n, -1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)];

/** @param createPlace makes a new and empty place */
export function testPetStore(name: string, createPlace: () => Promise<StorePlace>): void {
  testAdding(name, createPlace);
  testRepeatedAdding(name, createPlace);
  testReading(name, createPlace);
  testReadingWhileAdding(name, createPlace);
  testClosing(name, createPlace);
}

function testAdding(name: string, createPlace: () => Promise<StorePlace>): void {
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

  test(`${name}: an animal is kept exactly, whatever its name, category and status`, async (context) => {
    const store = await openStore(context, createPlace);
    const pets = oddNames.flatMap((petName) => statuses.map((status) => ({ name: petName, categoryId: 5n, status })));
    pets.push(...int64s.map((categoryId) => ({ ...rex, categoryId })));
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
        const [alone, listed] = await Promise.all([store.get(id), store.list({ ...everything, after: id - 1, limit: 1 })]);
        assert.equal(textOf(alone), textOf(json));
        assert.equal(textOf(listed.json), `[${textOf(json)}]`);
      }),
    );
  });
}

export function hashOf(number: number): string {
  return `hash-${number}`.padEnd(22, "_");
}

function testRepeatedAdding(name: string, createPlace: () => Promise<StorePlace>): void {
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
    assert.equal((await walk(store, { limit: 100, status: undefined })).length, 3);
  });

  test(`${name}: add() with the hash of another animal throws IdempotencyConflictError and adds nothing`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add(rex, hashOf(1));
    const others: readonly Partial<NewPet>[] = [{ name: "rex" }, { categoryId: 2n }, { status: "sold" }];
    for (const other of others) {
      await assert.rejects(store.add({ ...rex, ...other }, hashOf(1)), IdempotencyConflictError);
    }
    assert.equal((await store.add(rex, hashOf(1))).id, 1);
    assert.equal((await walk(store, { limit: 100, status: undefined })).length, 1);
  });

  test(`${name}: 64 adds with one hash at once add one animal, and share its result`, async (context) => {
    const store = await openStore(context, createPlace);
    const results = await Promise.all(idsFrom(1, 64).map(() => store.add(rex, hashOf(1))));
    assert.deepEqual(new Set(results.map(({ id, json }) => `${id} ${textOf(json)}`)).size, 1);
    assert.equal(results.filter(({ isReplay }) => isReplay !== true).length, 1);
    const [other, same] = await Promise.allSettled([store.add(petOf(2), hashOf(1)), store.add(rex, hashOf(1))]);
    assert.ok(other?.status === "rejected" && other.reason instanceof IdempotencyConflictError);
    assert.ok(same?.status === "fulfilled" && same.value.isReplay === true);
    assert.equal((await walk(store, { limit: 100, status: undefined })).length, 1);
  });

  test(`${name}: a hash counts after the store was closed and opened again`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    const first = await place.open();
    await Promise.all(idsFrom(1, 20).map((number) => first.add(petOf(number), hashOf(number))));
    await first.close();
    const second = await place.open();
    context.after(() => second.close());
    for (const number of idsFrom(1, 20)) {
      const again = await second.add(petOf(number), hashOf(number));
      assert.deepEqual([again.id, again.isReplay], [number, true]);
    }
    await assert.rejects(second.add(petOf(1), hashOf(2)), IdempotencyConflictError);
    assert.equal((await second.add(rex, hashOf(21))).id, 21);
  });
}

function testReading(name: string, createPlace: () => Promise<StorePlace>): void {
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

  test(`${name}: a page holds the first matches with an id above "after", and nextAfter if more match`, seeded(async (random) => {
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

function testReadingWhileAdding(name: string, createPlace: () => Promise<StorePlace>): void {
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

function testClosing(name: string, createPlace: () => Promise<StorePlace>): void {
  test(`${name}: isWritable() is true until the store is closed`, async (context) => {
    const store = await openStore(context, createPlace);
    assert.equal(store.isWritable(), true);
    await store.add(rex);
    assert.equal(store.isWritable(), true);
    await store.close();
    assert.equal(store.isWritable(), false);
  });

  test(`${name}: after close(), adding fails, reading works or fails, and nothing waits for ever`, async (context) => {
    const store = await openStore(context, createPlace);
    const { json } = await store.add(rex);
    await store.close();
    await assert.rejects(store.add(rex), StorageUnavailableError);
    assert.equal(textOf(await unlessUnavailable(() => store.get(1), json)), textOf(json));
    const whole = { json: `[${textOf(json)}]`, nextAfter: undefined };
    assert.equal(textOf((await unlessUnavailable(() => store.list(everything), whole)).json), whole.json);
  });

  test(`${name}: close() may be called twice, at once and later`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add(rex);
    await Promise.all([store.close(), store.close()]);
    await store.close();
  });

  test(`${name}: close() settles every add: opened again, the store has the animals that were added and no others`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    let kept: StoredPet[] = [];
    for (const count of [0, 1, 300]) {
      const store = await place.open();
      const adding = Promise.allSettled(manyPets(count).map((pet) => store.add(pet)));
      let isSettled = false;
      void adding.then(() => (isSettled = true));
      await store.close();
      await new Promise((resolve) => setImmediate(resolve));
      assert.ok(isSettled, "close() waits for every add");
      for (const outcome of await adding) {
        if (outcome.status === "fulfilled") {
          kept.push(outcome.value);
        } else {
          assert.ok(outcome.reason instanceof StorageUnavailableError, String(outcome.reason));
        }
      }
      const again = await place.open();
      assert.deepEqual(kept.map(({ id }) => id), idsFrom(1, kept.length));
      assertPage(await again.list(everything), kept, undefined);
      const next = await again.add(rex);
      assert.equal(next.id, kept.length + 1);
      kept = [...kept, next];
      await again.close();
    }
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

export async function openStore(context: TestContext, createPlace: () => Promise<StorePlace>): Promise<PetStore> {
  const place = await createPlace();
  const store = await place.open();
  context.after(async () => {
    await store.close();
    await place.remove();
  });
  return store;
}

async function withStore(createPlace: () => Promise<StorePlace>, use: (store: PetStore) => Promise<void>): Promise<void> {
  const place = await createPlace();
  const store = await place.open();
  try {
    await use(store);
  } finally {
    await store.close();
    await place.remove();
  }
}

/** All at once. */
export function addAll(store: PetStore, pets: readonly NewPet[]): Promise<StoredPet[]> {
  return Promise.all(pets.map((pet) => store.add(pet)));
}

/** Animals that differ, so that one cannot pass for another. */
export function manyPets(count: number): NewPet[] {
  return idsFrom(1, count).map(petOf);
}

export function petOf(number: number): NewPet {
  return { name: `Rex ${number}`, categoryId: BigInt(number), status: statuses[number % statuses.length] ?? "sold" };
}

function randomPets(random: SeededRandom, count: number): NewPet[] {
  return random.times(count, () => ({
    name: "🐕é".repeat(random.integer(1, 40)),
    categoryId: BigInt(random.uint32()),
    // Few of one kind, so that some pages come to an end and some do not.
    status: random.oneIn(10) ? "pending" : random.pick<PetStatus>(["available", "sold"]),
  }));
}

export function idsFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}

/** The texts of all animals on the pages, in their order. */
export async function walk(store: PetStore, query: { limit: number; status: PetStatus | undefined }): Promise<string[]> {
  const texts: string[] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: PetPage = await store.list({ ...query, after });
    const inner = textOf(page.json).slice(1, -1);
    texts.push(...(inner === "" ? [] : inner.split(/(?<=\}),(?=\{)/)));
    assert.ok(page.nextAfter === undefined || page.nextAfter > after, "each page leads on");
    after = page.nextAfter;
  }
  return texts;
}

function assertPage(page: PetPage, expected: readonly (StoredPet | undefined)[], nextAfter: number | undefined): void {
  assert.equal(textOf(page.json), `[${expected.map((pet) => textOf(pet?.json)).join(",")}]`);
  assert.equal(page.nextAfter, nextAfter);
}

/** A closed store may say so; what it answers otherwise must be right. */
async function unlessUnavailable<Answer>(read: () => Answer | Promise<Answer>, expected: Answer): Promise<Answer> {
  try {
    return await read();
  } catch (error) {
    assert.ok(error instanceof StorageUnavailableError, String(error));
    return expected;
  }
}

export function textOf(json: JsonText | undefined): string {
  assert.notEqual(json, undefined, "there is a text");
  return typeof json === "string" ? json : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(json);
}
