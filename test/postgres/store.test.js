/**
 * The store in the database does what every store has to do.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { petVersionMax, StorageUnavailableError } from "../../build/src/pets/pet-store.js";
import { petToJson } from "../../build/src/pets/pet.js";
import { Database } from "../../build/src/postgres/database.js";
import { PostgresPetStore } from "../../build/src/postgres/postgres-pet-store.js";
import { prepareSchema } from "../../build/src/postgres/schema.js";
import { systemClock } from "../../build/src/base/clock.js";
import { testPetStore } from "../../build/test/support/store-suites/index.js";
import { SeededRandom } from "../../build/test/support/seeded-random.js";
import { changeStatus } from "../../build/test/support/store-suites/suite-steps.js";
import { skip } from "./postgres-server.js";
import { createPlace } from "./places.js";

testPetStore("in PostgreSQL", createStorePlace);

async function createStorePlace() {
  const { pool, remove } = await createPlace();
  return {
    async open() {
      const database = new Database(pool, () => undefined);
      await prepareSchema(database, () => undefined, "make");
      return new PostgresPetStore(database, systemClock);
    },
    remove,
  };
}

const pet = { name: "Rex", categoryId: 1n, status: "available" };
const hash = "0123456789abcdefghijkl";

async function openStore(context) {
  const { pool, remove } = await createPlace();
  context.after(remove);
  const database = new Database(pool, assert.fail);
  await prepareSchema(database, () => undefined, "make");
  return { pool, store: new PostgresPetStore(database, systemClock) };
}

test("an idempotency key whose animal was deleted by hand adds it again, and fails no other create", { skip }, async (context) => {
  const { pool, store } = await openStore(context);
  await store.add(pet, hash);
  await pool.query("DELETE FROM animal_store.pets");
  const [again, other] = await Promise.all([store.add(pet, hash), store.add(pet)]);
  assert.deepEqual([again.id, other.id], [2, 3]);
  assert.equal((await store.add(pet, hash)).id, 2);
});

test("an idempotency key counts for 24 hours, also if no purge has removed it", { skip }, async (context) => {
  const { pool, store } = await openStore(context);
  const ids = [];
  for (const age of ["0", "23 hours 59 minutes", "24 hours 1 minute"]) {
    await pool.query("UPDATE animal_store.once SET at = now() - $1::interval", [age]);
    ids.push((await store.add(pet, hash)).id);
  }
  assert.deepEqual(ids, [1, 1, 2]);
});

test("the idempotency key of a change counts for 24 hours, and then for another request", { skip }, async (context) => {
  const { pool, store } = await openStore(context);
  await Promise.all([store.add(pet), store.add(pet)]);
  const change = { status: "pending", from: ["available"] };
  await changeStatus(store, 1, change, hash);
  const age = (text) => pool.query("UPDATE animal_store.once SET at = now() - $1::interval", [text]);
  await age("23 hours 59 minutes");
  assert.equal((await changeStatus(store, 1, change, hash)).isReplay, true);
  await age("24 hours 1 minute");
  assert.deepEqual(await changeStatus(store, 1, change, hash), { kind: "mismatch", status: "pending", version: 2 });
  for (const isReplay of [false, true]) {
    assert.equal((await changeStatus(store, 2, change, hash)).isReplay, isReplay);
  }
  await age("24 hours 1 minute");
  assert.equal((await store.add(pet, hash)).id, 3);
  assert.equal((await store.add(pet, hash)).isReplay, true);
});

test("a change of an animal that was deleted by hand is absent, also between its reading and its write", { skip }, async (context) => {
  const { pool, store } = await openStore(context);
  await Promise.all([store.add(pet), store.add(pet)]);
  const change = { status: "pending", from: ["available"] };
  const { rows } = await pool.query(`DELETE FROM animal_store.pets WHERE id = 1;
    SELECT animal_store.change_statuses(gen_random_uuid(), '{1,2}', '{sold,sold}', '{available,available}', '{null,null}') AS answer`)
    .then((results) => results[1]);
  assert.deepEqual(rows[0].answer, { last: 2, replays: { 1: "absent" } });
  assert.deepEqual(await changeStatus(store, 1, change, hash), { kind: "absent" });
  assert.deepEqual(await changeStatus(store, 2, change), { kind: "mismatch", status: "sold", version: 2 });
});

test("after its last version an animal is neither changed nor removed, and stays as it is", { skip }, async (context) => {
  const { pool, store } = await openStore(context);
  await store.add(pet);
  await pool.query(`UPDATE animal_store.pets SET version = ${petVersionMax}`);
  const tag = { match: [`available-${petVersionMax}`], noneMatch: [] };
  for (const key of [undefined, hash]) {
    await assert.rejects(store.change(1, { status: "sold" }, tag, key), StorageUnavailableError);
    await assert.rejects(store.change(1, { name: "Max" }, tag, key), StorageUnavailableError);
    await assert.rejects(store.remove(1, tag, key), StorageUnavailableError);
  }
  assert.equal((await store.change(1, { status: "available" }, tag)).kind, "changed", "which changes nothing");
  assert.deepEqual(await store.get(1), { json: petToJson({ id: 1, ...pet }), version: petVersionMax });
});

test("lists that are asked for at once are those of each query alone, with frequent and rare statuses", { skip }, async (context) => {
  const { store } = await openStore(context);
  const random = new SeededRandom(Math.floor(Math.random() * 2 ** 32));
  const statuses = random.times(3_000, () => (random.oneIn(500) ? "sold" : random.pick(["available", "pending"])));
  const added = await Promise.all(statuses.map((status, index) => store.add({ name: `Rex ${index}`, categoryId: 1n, status })));
  const queries = random.times(2_000, () => ({
    after: random.oneIn(3) ? 0 : random.integer(0, 3_100),
    limit: random.integer(1, 100),
    status: random.pick([undefined, "available", "pending", "sold"]),
  }));
  const pages = await Promise.all(queries.map((query) => store.list(query)));
  queries.forEach(({ after, limit, status }, index) => {
    const matches = added.filter(({ id }) => id > after && (status === undefined || statuses[id - 1] === status));
    const expected = matches.slice(0, limit);
    assert.equal(pages[index].json, `[${expected.map(({ json }) => json).join(",")}]`);
    assert.equal(pages[index].nextAfter, matches.length > limit ? expected.at(-1).id : undefined);
  });
});
