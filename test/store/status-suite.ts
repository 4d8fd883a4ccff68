/**
 * What every store has to do that has `changeStatus` (src/pets/pet-store.ts): a second suite beside pet-store-suite.ts,
 * since a store may have none.
 */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import {
  type ChangeOutcome,
  IdempotencyConflictError,
  type NewPet,
  type PetStatus,
  type PetStore,
  petToJson,
  type StatusChange,
  StorageUnavailableError,
} from "../../src/index.ts";
import { seeded } from "../support/seeded-random.ts";
import { addAll, hashOf, idsFrom, manyPets, openStore, petOf, statuses, type StorePlace, textOf, walk } from "./pet-store-suite.ts";

type ChangingStore = PetStore & Required<Pick<PetStore, "changeStatus">>;
type CreatePlace = () => Promise<StorePlace>;

const rex: NewPet = { name: "Rex", categoryId: 1n, status: "available" };
const reserve: StatusChange = { status: "pending", from: ["available"] };
const toSold: StatusChange = { status: "sold", from: statuses };
const free: StatusChange = { status: "available", from: statuses };
const everything = { limit: 100, status: undefined };

/** @param createPlace makes a new and empty place, whose stores have `changeStatus` */
export function testStatusChanges(name: string, createPlace: CreatePlace): void {
  testChanging(name, createPlace);
  testRepeatedChanging(name, createPlace);
  testReadingWhileChanging(name, createPlace);
}

function testChanging(name: string, createPlace: CreatePlace): void {
  test(`${name}: a change gives every reader the animal with the new status, and nothing else of it changes`, async (context) => {
    const store = await openChanging(context, createPlace);
    const names = ["x", "\u0001".repeat(255), "🐕".repeat(255), '","status":"sold"}'];
    const pets = names.map((petName) => ({ ...rex, name: petName, categoryId: -(2n ** 63n) }));
    await addAll(store, pets);
    for (const [index, pet] of pets.entries()) {
      for (const status of ["pending", "sold", "available", "sold"] as const) {
        const expected = petToJson({ ...pet, id: index + 1, status });
        assertChanged(await store.changeStatus(index + 1, { status, from: statuses }), expected);
        assert.equal(textOf(await store.get(index + 1)), expected);
        assert.equal((await walk(store, everything))[index], expected);
        assert.ok((await walk(store, { limit: 3, status })).includes(expected));
      }
    }
  });

  test(`${name}: of 64 changes of one animal at once, out of one status, one succeeds`, async (context) => {
    const store = await openChanging(context, createPlace);
    await store.add(rex);
    for (const withHash of [false, true]) {
      const outcomes = await Promise.all(idsFrom(1, 64).map((number) => store.changeStatus(1, reserve, withHash ? hashOf(number) : undefined)));
      assert.deepEqual(countsOf(outcomes), { changed: 1, mismatch: 63, absent: 0 });
      assert.ok(outcomes.every((outcome) => outcome.kind !== "mismatch" || outcome.status === "pending"), "each says what it is now");
      await store.changeStatus(1, free);
    }
  });

  test(`${name}: a change of an animal that has none of the statuses says which it has, and changes nothing`, async (context) => {
    const store = await openChanging(context, createPlace);
    await addAll(store, statuses.map((status) => ({ ...rex, status })));
    const before = await walk(store, everything);
    for (const [index, status] of statuses.entries()) {
      for (const from of [[], statuses.filter((one) => one !== status)]) {
        for (const to of statuses) {
          assert.deepEqual(await store.changeStatus(index + 1, { status: to, from }), { kind: "mismatch", status });
        }
      }
    }
    assert.deepEqual(await walk(store, everything), before);
  });

  test(`${name}: a change of an id that no animal has is "absent", with a hash too`, async (context) => {
    const store = await openChanging(context, createPlace);
    await store.add(rex, hashOf(1));
    for (const id of [2, 3, 4_097, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]) {
      for (const hash of [undefined, hashOf(1), hashOf(2)]) {
        assert.deepEqual(await store.changeStatus(id, toSold, hash), { kind: "absent" }, `id ${id}`);
      }
    }
    assert.equal((await store.add(petOf(2), hashOf(2))).id, 2, "it is not remembered");
  });

  test(`${name}: animals and changes at once have the ids and the order of their calls`, async (context) => {
    const store = await openChanging(context, createPlace);
    await addAll(store, manyPets(50));
    const working = idsFrom(1, 50).flatMap((id) => [store.changeStatus(id, toSold), store.add(petOf(50 + id))]);
    await Promise.all(working);
    const expected = idsFrom(1, 100).map((id) => petToJson({ ...petOf(id), id, ...(id <= 50 && { status: "sold" }) }));
    assert.deepEqual(await walk(store, everything), expected);
  });

  test(`${name}: after close(), a change that would store something fails`, async (context) => {
    const store = await openChanging(context, createPlace);
    await store.add(rex);
    await store.close();
    await assert.rejects(store.changeStatus(1, reserve), StorageUnavailableError);
    await assert.rejects(store.changeStatus(1, reserve, hashOf(1)), StorageUnavailableError);
  });

  test(`${name}: what was changed is changed after the store was closed and opened again`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    const expected = manyPets(40).map((pet, index) => ({ ...pet, id: index + 1 }));
    for (let life = 0; life < 3; life++) {
      const store = changing(await place.open());
      await (life === 0 ? addAll(store, manyPets(40)) : undefined);
      assert.deepEqual(await walk(store, everything), expected.map(petToJson));
      await Promise.all(
        idsFrom(1, 20).map(async (step) => {
          const status = statuses[(step + life) % 3]!; // The index is within the array.
          const id = ((step * 7 + life) % 40) + 1;
          await store.changeStatus(id, { status, from: statuses });
          expected[id - 1] = { ...expected[id - 1]!, status }; // There is the animal.
        }),
      );
      await store.close();
    }
    const last = await place.open();
    assert.deepEqual(await walk(last, everything), expected.map(petToJson));
    await last.close();
  });
}

function testRepeatedChanging(name: string, createPlace: CreatePlace): void {
  test(`${name}: a change repeated with its hash is its first result, whatever has happened since`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    let store = changing(await place.open());
    await addAll(store, [rex, rex]);
    const pending = petToJson({ ...rex, id: 1, status: "pending" });
    assertChanged(await store.changeStatus(1, reserve, hashOf(1)), pending);
    for (const change of [undefined, toSold, free, toSold, undefined]) {
      if (change === undefined) {
        await store.close();
        store = changing(await place.open());
      } else {
        await store.changeStatus(1, change);
      }
      const before = textOf(await store.get(1));
      for (const from of [["available"], [], statuses] as const) {
        const repeated = await store.changeStatus(1, { status: "pending", from }, hashOf(1));
        assertChanged(repeated, pending);
        assert.equal(repeated.kind === "changed" && repeated.isReplay, true);
      }
      assert.equal(textOf(await store.get(1)), before);
    }
    await store.close();
  });

  test(`${name}: a creation repeated after its animal has changed has its first text`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    for (const life of [1, 2]) {
      const store = changing(await place.open());
      const created = await store.add(rex, hashOf(1));
      assert.deepEqual([created.id, textOf(created.json), created.isReplay === true], [1, petToJson({ ...rex, id: 1 }), life === 2]);
      await store.changeStatus(1, toSold);
      const again = await store.add(rex, hashOf(1));
      assert.deepEqual([again.id, textOf(again.json), again.isReplay], [1, petToJson({ ...rex, id: 1 }), true]);
      await assert.rejects(store.add({ ...rex, status: "sold" }, hashOf(1)), IdempotencyConflictError);
      await store.close();
    }
  });

  test(`${name}: a change to the status that an animal has succeeds, and its hash is remembered`, async (context) => {
    const store = await openChanging(context, createPlace);
    await store.add(rex);
    const expected = petToJson({ ...rex, id: 1 });
    for (const hash of [undefined, hashOf(1)]) {
      assertChanged(await store.changeStatus(1, { status: "available", from: ["available"] }, hash), expected);
    }
    await store.changeStatus(1, toSold);
    const repeated = await store.changeStatus(1, { status: "available", from: ["available"] }, hashOf(1));
    assertChanged(repeated, expected);
    assert.equal(repeated.kind === "changed" && repeated.isReplay, true);
    assert.equal(textOf(await store.get(1)), petToJson({ ...rex, id: 1, status: "sold" }));
  });

  test(`${name}: adds and changes share their hashes: one that belongs to another request throws, and stores nothing`, async (context) => {
    const store = await openChanging(context, createPlace);
    await store.add(rex, hashOf(1));
    await store.add(rex);
    await store.changeStatus(1, reserve, hashOf(2));
    const before = await walk(store, everything);
    await assert.rejects(store.changeStatus(1, toSold, hashOf(1)), IdempotencyConflictError);
    await assert.rejects(store.changeStatus(1, free, hashOf(1)), IdempotencyConflictError);
    await assert.rejects(store.changeStatus(1, toSold, hashOf(2)), IdempotencyConflictError);
    await assert.rejects(store.changeStatus(2, { ...reserve, from: [] }, hashOf(2)), IdempotencyConflictError);
    await assert.rejects(store.add({ ...rex, status: "pending" }, hashOf(2)), IdempotencyConflictError);
    await assert.rejects(store.add(rex, hashOf(2)), IdempotencyConflictError);
    assert.deepEqual(await walk(store, everything), before);
  });

  test(`${name}: a change that was refused is not remembered: its hash is free`, async (context) => {
    const store = await openChanging(context, createPlace);
    await store.add({ ...rex, status: "sold" });
    assert.deepEqual(await store.changeStatus(1, reserve, hashOf(1)), { kind: "mismatch", status: "sold" });
    await store.changeStatus(1, free);
    const changed = await store.changeStatus(1, reserve, hashOf(1));
    assertChanged(changed, petToJson({ ...rex, id: 1, status: "pending" }));
    assert.equal(changed.kind === "changed" && changed.isReplay === true, false);
  });

  test(`${name}: 64 changes with one hash at once are one change, and share its result`, async (context) => {
    const store = await openChanging(context, createPlace);
    await store.add(rex);
    const outcomes = await Promise.all(idsFrom(1, 64).map(() => store.changeStatus(1, reserve, hashOf(1))));
    outcomes.forEach((outcome) => assertChanged(outcome, petToJson({ ...rex, id: 1, status: "pending" })));
    assert.equal(outcomes.filter((outcome) => outcome.kind === "changed" && outcome.isReplay !== true).length, 1);
    const requests = [store.changeStatus(1, toSold, hashOf(2)), store.changeStatus(1, free, hashOf(2)), store.add(rex, hashOf(2))];
    const other = await Promise.allSettled<unknown>(requests);
    assert.deepEqual(other.map(({ status }) => status), ["fulfilled", "rejected", "rejected"]);
    assert.ok(other.every((one) => one.status === "fulfilled" || one.reason instanceof IdempotencyConflictError));
  });

  test(`${name}: of changes with one hash at once, each is judged by its own statuses until one succeeds`, async (context) => {
    const store = await openChanging(context, createPlace);
    await store.add(rex);
    const outcomes = await Promise.all(
      [[], ["sold"], ["available"], ["sold"]].map((from) => store.changeStatus(1, { status: "pending", from: from as PetStatus[] }, hashOf(1))),
    );
    assert.deepEqual(outcomes.map(({ kind }) => kind), ["mismatch", "mismatch", "changed", "changed"]);
  });
}

function testReadingWhileChanging(name: string, createPlace: CreatePlace): void {
  test(`${name}: a filtered walk lists each animal that does not change exactly once, and others at most once`, seeded(async (random) => {
    const place = await createPlace();
    const store = changing(await place.open());
    try {
      await addAll(store, idsFrom(1, 200).map((id) => ({ ...rex, name: `Rex ${id}` })));
      for (const status of ["available", undefined] as const) {
        const moved = new Set<number>();
        let isWalking = true;
        const moving = (async () => {
          while (isWalking) {
            const id = random.integer(1, 100) * 2;
            moved.add(id);
            await store.changeStatus(id, { status: random.pick(statuses), from: statuses });
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
    } finally {
      await store.close();
      await place.remove();
    }
  }));

  test(`${name}: pages have what each change left, whichever statuses they filter by`, seeded(async (random) => {
    const place = await createPlace();
    const store = changing(await place.open());
    try {
      const model = manyPets(150).map((pet, index) => ({ ...pet, id: index + 1 }));
      await addAll(store, manyPets(150));
      for (let round = 0; round < 10; round++) {
        const ids = new Set(random.times(30, () => random.integer(1, 150)));
        const changes = [...ids].map((id) => ({ id, status: random.pick(statuses), from: [random.pick(statuses)] }));
        const outcomes = await Promise.all(changes.map(({ id, ...change }) => store.changeStatus(id, change)));
        for (const [index, { id, status, from }] of changes.entries()) {
          const pet = model[id - 1]!; // There is the animal.
          const expected = from.includes(pet.status) ? "changed" : "mismatch";
          assert.equal(outcomes[index]?.kind, expected);
          model[id - 1] = expected === "changed" ? { ...pet, status } : pet;
        }
        for (const status of [undefined, ...statuses]) {
          const texts = model.filter((pet) => status === undefined || pet.status === status).map(petToJson);
          assert.deepEqual(await walk(store, { limit: random.integer(1, 60), status }), texts);
        }
      }
    } finally {
      await store.close();
      await place.remove();
    }
  }));
}

function changing(store: PetStore): ChangingStore {
  assert.ok(store.changeStatus, "the store has changeStatus");
  return store as ChangingStore; // As was just seen.
}

async function openChanging(context: TestContext, createPlace: CreatePlace): Promise<ChangingStore> {
  return changing(await openStore(context, createPlace));
}

function assertChanged(outcome: ChangeOutcome, expected: string): void {
  assert.equal(outcome.kind, "changed");
  assert.equal(outcome.kind === "changed" ? textOf(outcome.json) : undefined, expected);
}

function countsOf(outcomes: readonly ChangeOutcome[]): Record<ChangeOutcome["kind"], number> {
  const counts = { changed: 0, mismatch: 0, absent: 0 };
  outcomes.forEach(({ kind }) => counts[kind]++);
  return counts;
}
