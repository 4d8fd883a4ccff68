/** What a store does with the versions of animals, and with corrections. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { members } from "../../../src/pets/members.ts";
import { IdempotencyConflictError, type PetStore } from "../../../src/pets/pet-store.ts";
import { type NewPet, type PetChange, petToJson } from "../../../src/pets/pet.ts";
import type { CreatePlace } from "./place.ts";
import { seeded, type SeededRandom } from "../seeded-random.ts";
import {
  addAll, always, assertChanged, changeStatus, everyPage, free, hashOf, idsFrom, ifMatch, manyPets, oddPets, openStore,
  petOf, reserve, rex, statuses, textOf, toSold, valueOf, walk,
} from "./suite-steps.ts";

export function testVersions(name: string, createPlace: CreatePlace): void {
  test(`${name}: a version is 1, and one more with each change, opened again too`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    let store = await place.open();
    await addAll(store, [rex, rex]);
    let version = 1;
    for (const status of ["pending", "sold", "pending", "available"] as const) {
      assert.equal((await store.get(1))?.version, version);
      const change = version % 2 === 0 ? { status } : { status, name: `Rex ${version}` };
      const outcome = await store.change(1, change, always);
      version += 1;
      assert.deepEqual(outcome.kind === "changed" && outcome.version, version);
      await store.close();
      store = await place.open();
    }
    assert.deepEqual([(await store.get(1))?.version, (await store.get(2))?.version], [5, 1]);
    await store.close();
  });

  test(`${name}: of 64 changes and removals out of one version at once, one succeeds`, async (context) => {
    const store = await openStore(context, createPlace);
    const [one, other] = [{ ...rex, status: "available" }, { ...rex, name: "Max" }] as const;
    await addAll(store, Array<NewPet>(20).fill(one));
    for (const id of idsFrom(1, 20)) {
      const from = ifMatch("available-1");
      const outcomes = await Promise.all(idsFrom(1, 64).map(async (number) => {
        const hash = number % 2 === 0 ? hashOf(100 * id + number) : undefined;
        return number === 60 ? store.remove(id, from, hash) : store.change(id, { name: other.name }, from, hash);
      }));
      const done = outcomes.filter(({ kind }) => kind === "removed" || kind === "changed");
      assert.equal(done.length, 1, `animal ${id}`);
    }
  });

  test(`${name}: a status that has come back is another version: who had it before is refused`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add({ ...rex, status: "available" });
    const first = await changeStatus(store, 1, reserve);
    assert.ok(first.kind === "changed");
    await changeStatus(store, 1, free);
    const second = await changeStatus(store, 1, reserve);
    assert.ok(second.kind === "changed");
    const mismatch = { kind: "mismatch", status: "pending", version: 4 };
    for (const hash of [undefined, hashOf(1)]) {
      assert.deepEqual(await store.change(1, { status: "sold" }, ifMatch(`pending-${first.version}`), hash), mismatch);
      assert.deepEqual(await store.remove(1, ifMatch(`pending-${first.version}`), hash), mismatch);
      assert.deepEqual(await store.change(1, { status: "sold" }, ifMatch("sold-4", "pending-04"), hash), mismatch);
    }
    const sold = await store.change(1, { status: "sold" }, ifMatch("x", `pending-${second.version}`));
    assertChanged(sold, petToJson({ ...rex, id: 1, status: "sold" }));
  });

  test(`${name}: of what an animal may be and may not be, both count`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add({ ...rex, status: "available" });
    const mismatch = { kind: "mismatch", status: "available", version: 1 };
    for (const noneMatch of [["available-1"], ["sold-2", "available-1"], statuses]) {
      assert.deepEqual(await store.change(1, { status: "sold" }, { match: statuses, noneMatch }), mismatch);
      assert.deepEqual(await store.remove(1, { match: ["available-1"], noneMatch }), mismatch);
    }
    const outcome = await store.change(1, { status: "sold" }, { match: ["available"], noneMatch: ["available-2"] });
    assert.equal(outcome.kind, "changed");
  });

  test(`${name}: a change to what is there makes a version only with a hash`, async (context) => {
    const store = await openStore(context, createPlace);
    await store.add(rex, hashOf(1));
    const same: readonly PetChange[] = [{ status: rex.status }, { name: rex.name }, rex];
    for (const change of same) {
      const outcome = await store.change(1, change, always);
      assert.deepEqual([outcome.kind === "changed" && outcome.version, (await store.get(1))?.version], [1, 1]);
      assertChanged(outcome, petToJson({ ...rex, id: 1 }));
    }
    for (const [index, change] of same.entries()) {
      for (const isReplay of [false, true]) {
        const outcome = await store.change(1, change, always, hashOf(index + 2));
        assert.equal(outcome.kind === "changed" && outcome.version, index + 2);
        assertChanged(outcome, petToJson({ ...rex, id: 1 }), isReplay);
      }
    }
    assert.equal((await store.get(1))?.version, 4);
    assert.deepEqual(await store.change(1, { status: rex.status }, ifMatch(`${rex.status}-3`)), {
      kind: "mismatch", status: rex.status, version: 4,
    });
  });
}

export function testCorrecting(name: string, createPlace: CreatePlace): void {
  test(`${name}: a correction gives every reader its values, and what it does not name stays`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    let store = await place.open();
    await addAll(store, manyPets(30));
    const expected = manyPets(30).map((pet, index) => ({ ...pet, id: index + 1 }));
    for (const odd of oddPets()) {
      for (const { name: member } of members) {
        const id = (expected.length * 7 + odd.name.length) % 30 + 1;
        const change = { [member]: odd[member] };
        expected[id - 1] = { ...expected[id - 1]!, ...change }; // The animal exists.
        assertChanged(await store.change(id, change, always), petToJson(expected[id - 1]!));
        assert.equal(textOf(await store.get(id)), petToJson(expected[id - 1]!));
      }
      assert.deepEqual(await walk(store, everyPage), expected.map(petToJson));
    }
    await store.close();
    store = await place.open();
    assert.deepEqual(await walk(store, everyPage), expected.map(petToJson));
    await store.close();
  });

  test(`${name}: after corrections each repeated request has its first result, opened again too`, async (context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    const [max, bo] = [{ ...rex, name: "Max" }, { ...rex, name: "Bo", categoryId: -7n }];
    for (const life of [1, 2, 3]) {
      const store = await place.open();
      const isReplay = life > 1;
      assert.equal(textOf((await store.add(rex, hashOf(1))).json), petToJson({ ...rex, id: 1 }));
      assertChanged(await store.change(1, { name: "Max" }, always, hashOf(2)), petToJson({ ...max, id: 1 }), isReplay);
      const change = { name: "Bo", categoryId: -7n, status: "pending" } as const;
      const pending = petToJson({ ...bo, id: 1, status: "pending" });
      assertChanged(await store.change(1, change, always, hashOf(3)), pending, isReplay);
      const sold = await store.change(1, { status: "sold" }, always, hashOf(4));
      assertChanged(sold, petToJson({ ...bo, id: 1, status: "sold" }), isReplay);
      assert.equal(sold.kind === "changed" && sold.version, 4);
      await store.change(1, { name: `of life ${life}` }, always);

      for (const named of [{ status: "pending" }, { name: "Bo" }, { categoryId: -7n, status: "pending" }] as const) {
        const repeated = await store.change(1, named, ifMatch(), hashOf(3));
        assertChanged(repeated, pending, true);
        assert.equal(repeated.kind === "changed" && repeated.version, 3, "the version of then");
      }
      for (const other of [{ status: "sold" }, { name: "Max" }, { name: "Bo", categoryId: 7n }] as const) {
        await assert.rejects(store.change(1, other, always, hashOf(3)), IdempotencyConflictError);
      }
      await assert.rejects(store.remove(1, always, hashOf(3)), IdempotencyConflictError);
      await assert.rejects(store.add(max, hashOf(1)), IdempotencyConflictError);
      await assert.rejects(store.add(max, hashOf(2)), IdempotencyConflictError);
      assert.equal(textOf(await store.get(1)), petToJson({ ...bo, name: `of life ${life}`, id: 1, status: "sold" }));
      await store.close();
    }
  });

  test(`${name}: animals, corrections and changes at once take effect one after the other`, async (context) => {
    const store = await openStore(context, createPlace);
    await addAll(store, manyPets(50));
    const outcomes = await Promise.all(idsFrom(1, 50).flatMap((id) => [
      store.change(id, { name: `New ${id}` }, ifMatch(petOf(id).status)),
      changeStatus(store, id, toSold),
      store.add(petOf(50 + id)),
      store.change(id, { categoryId: -1n }, always),
    ]));
    assert.deepEqual(outcomes.filter((outcome) => "kind" in outcome && outcome.kind !== "changed"), []);
    const expected = idsFrom(1, 50).map((id) => ({ ...petOf(id), id, name: `New ${id}`, categoryId: -1n, status: "sold" as const }));
    assert.deepEqual((await walk(store, everyPage)).slice(0, 50), expected.map(petToJson));
  });

  test(`${name}: whatever is changed, repeated and opened again, each tag is of one state`, seeded(async (random, context) => {
    const place = await createPlace();
    context.after(() => place.remove());
    const model = new PetModel();
    for (let life = 0; life < 3; life++) {
      const store = await place.open();
      for (let step = 0; step < 60; step++) {
        await model.step(store, random);
      }
      await model.check(store);
      await store.close();
    }
  }));
}

interface Known {
  readonly id: number;
  readonly change: PetChange;
  readonly text: string;
  readonly version: number;
}

/** What the store must say: of each animal all its states, and of each hash its first result. */
class PetModel {
  /** By id, then by version: the animal's text. The last one is the present one. */
  readonly #states: string[][] = [];
  readonly #pets: NewPet[] = [];
  readonly #known: Known[] = [];

  async step(store: PetStore, random: SeededRandom): Promise<void> {
    if (this.#pets.length < 3 || random.oneIn(5)) {
      const pet = petOf(random.integer(1, 9));
      const { id, json } = await store.add(pet);
      assert.equal(id, this.#pets.push(pet));
      this.#states.push([textOf(json)]);
      return;
    }
    if (this.#known.length > 0 && random.oneIn(3)) {
      const { id, change, text, version } = random.pick(this.#known);
      const hash = hashOf(this.#known.findIndex((one) => one.text === text && one.version === version));
      const outcome = await store.change(id, change, ifMatch(), hash);
      assertChanged(outcome, text, true);
      assert.equal(outcome.kind === "changed" && outcome.version, version);
      return;
    }
    await this.#change(store, random);
  }

  async #change(store: PetStore, random: SeededRandom): Promise<void> {
    const id = random.integer(1, this.#pets.length);
    const pet = this.#pets[id - 1]!; // The animal exists.
    const states = this.#states[id - 1]!;
    const version = random.oneIn(2) ? states.length : random.integer(1, states.length);
    const named = members.filter(() => random.oneIn(3)).map((one) => [one.name, valueOf(one, random.integer(1, 9))]);
    const change: PetChange = { ...Object.fromEntries(named), ...(random.oneIn(2) && { status: random.pick(statuses) }) };
    if (Object.keys(change).length === 0) {
      return;
    }
    const hash = random.oneIn(2) ? hashOf(this.#known.length) : undefined;
    const status = (JSON.parse(states[version - 1]!) as NewPet).status;
    const outcome = await store.change(id, change, ifMatch(`${status}-${version}`), hash);
    if (version < states.length) {
      assert.deepEqual(outcome, { kind: "mismatch", status: pet.status, version: states.length });
      return;
    }
    const changed = { ...pet, ...change } as NewPet;
    const text = petToJson({ ...changed, id });
    assertChanged(outcome, text);
    if (text !== states.at(-1) || hash !== undefined) {
      states.push(text);
    }
    assert.equal(outcome.kind === "changed" && outcome.version, states.length);
    this.#pets[id - 1] = changed;
    if (hash !== undefined) {
      this.#known.push({ id, change, text, version: states.length });
    }
  }

  async check(store: PetStore): Promise<void> {
    assert.deepEqual(await walk(store, everyPage), this.#states.map((states) => states.at(-1)));
    for (const [index, states] of this.#states.entries()) {
      assert.equal((await store.get(index + 1))?.version, states.length);
    }
    for (const categoryId of new Set(this.#pets.map((pet) => pet.categoryId))) {
      for (const status of [undefined, ...statuses]) {
        const isListed = (pet: NewPet): boolean =>
          pet.categoryId === categoryId && (status === undefined || pet.status === status);
        const expected = this.#states.filter((_, index) => isListed(this.#pets[index]!)).map((states) => states.at(-1));
        assert.deepEqual(await walk(store, { limit: 3, status, categoryId }), expected);
      }
    }
  }
}
