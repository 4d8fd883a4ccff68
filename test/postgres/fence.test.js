/**
 * The fate of a batch whose answer was lost, when the process that asks was paused meanwhile.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Database } from "../../build/src/postgres/database.js";
import { PostgresPetStore } from "../../build/src/postgres/postgres-pet-store.js";
import { prepareSchema } from "../../build/src/postgres/schema.js";
import { ManualClock } from "../../build/test/support/manual-clock.js";
import { changeStatus } from "../../build/test/support/store-suites/suite-steps.js";
import { skip } from "./postgres-server.js";
import { createPlace, withQuery } from "./places.js";

const pet = { name: "Rex", categoryId: 1n, status: "sold" };

/** A store that loses the answer of each batch that stores something, once it is there, and does `meanwhile`. */
async function open(context, clock, meanwhile) {
  const { pool, remove } = await createPlace();
  context.after(remove);
  const losing = withQuery(pool, async (client, statement) => {
    const result = await client.query(statement);
    if (/animal_store\.(add|change)\(\$1/.test(statement.text)) {
      await meanwhile(pool);
      throw new Error("Connection terminated unexpectedly");
    }
    return result;
  });
  const database = new Database(losing, assert.fail);
  await prepareSchema(database, () => undefined, "make");
  return new PostgresPetStore(database, clock);
}

for (const [hours, outcome] of [[0.4, "StorageUnavailableError"], [1.1, "OutcomeUnknownError"], [-1.1, "OutcomeUnknownError"]]) {
  test(`without a commit, and with the clock ${hours} hours later, the outcome of a create is ${outcome}`, { skip }, async (context) => {
    const clock = new ManualClock({ wallMs: Date.UTC(2026, 10, 21) });
    const store = await open(context, clock, async (pool) => {
      await pool.query("DELETE FROM animal_store.commits"); // Not stored, or purged: it looks the same.
      clock.advance(hours * 3_600_000);
    });
    await assert.rejects(store.add(pet), { name: outcome });
  });
}

test("an answer that cannot be read is an error of ours, and says nothing of whether the animal is stored", async () => {
  const unreadable = () => Promise.resolve([{ answer: "{" }]);
  const store = new PostgresPetStore({ isAvailable: true, run: unreadable, read: unreadable }, new ManualClock());
  await assert.rejects(store.add(pet), SyntaxError);
  await assert.rejects(store.get(1), SyntaxError);
});

test("with its commit, a create is known to be stored however late", { skip }, async (context) => {
  const clock = new ManualClock({ wallMs: Date.UTC(2026, 10, 21) });
  const store = await open(context, clock, () => clock.advance(7_200_000));
  assert.equal((await store.add(pet)).id, 1);
});

test("of a batch whose answer was lost, what was added before keeps its id", { skip }, async (context) => {
  const store = await open(context, new ManualClock({ wallMs: Date.UTC(2026, 10, 21) }), () => undefined);
  const hash = "0123456789abcdefghijkl";
  await store.add(pet, hash);
  const [next, again] = await Promise.all([store.add(pet), store.add(pet, hash)]);
  assert.deepEqual([next.id, again.id, again.isReplay], [2, 1, true]);
});

test("of a batch of changes whose answer was lost, each has its own outcome", { skip }, async (context) => {
  const store = await open(context, new ManualClock({ wallMs: Date.UTC(2026, 10, 21) }), () => undefined);
  const [hash, used] = ["0123456789abcdefghijkl", "lkjihgfedcba9876543210"];
  const textOf = (id, status) => `{"id":${id},"name":"Rex","categoryId":1,"status":"${status}"}`;
  await Promise.all([store.add(pet), store.add(pet), store.add(pet, used)]);
  const free = { status: "available", from: ["sold"] };
  await changeStatus(store, 1, free, hash);
  const outcomes = await Promise.allSettled([
    changeStatus(store, 2, { status: "pending", from: ["sold"] }),
    changeStatus(store, 2, { status: "available", from: ["sold"] }),
    changeStatus(store, 1, free, hash),
    changeStatus(store, 3, free, used),
    changeStatus(store, 4, free),
  ]);
  assert.deepEqual(outcomes.map(({ value, reason }) => value ?? reason.name), [
    { kind: "changed", json: textOf(2, "pending"), version: 2, isReplay: false },
    { kind: "mismatch", status: "pending", version: 2 },
    { kind: "changed", json: textOf(1, "available"), version: 2, isReplay: true },
    "IdempotencyConflictError",
    { kind: "absent" },
  ]);
  const present = [textOf(1, "available"), textOf(2, "pending")].map((json) => ({ json, version: 2 }));
  assert.deepEqual([await store.get(1), await store.get(2)], present);
});

test("a change that was never stored is StorageUnavailableError, and is not stored later", { skip }, async (context) => {
  const clock = new ManualClock({ wallMs: Date.UTC(2026, 10, 21) });
  const { pool, remove } = await createPlace();
  context.after(remove);
  let late;
  const delaying = withQuery(pool, (client, statement) => {
    if (!statement.text.includes("change($1")) {
      return client.query(statement);
    }
    late = () => pool.query(statement.text, statement.values);
    throw new Error("Connection terminated unexpectedly");
  });
  const database = new Database(delaying, assert.fail);
  await prepareSchema(database, () => undefined, "make");
  const store = new PostgresPetStore(database, clock);
  const { json } = await store.add(pet);
  await assert.rejects(changeStatus(store, 1, { status: "pending", from: ["sold"] }), { name: "StorageUnavailableError" });
  await assert.rejects(late(), { code: "23505" });
  assert.deepEqual(await store.get(1), { json, version: 1 });
});

test("an instance says once that animals which it confirmed are gone, and of each later loss again", { skip }, async (context) => {
  const { pool, remove } = await createPlace();
  context.after(remove);
  const lines = [];
  const store = new PostgresPetStore(new Database(pool, assert.fail), new ManualClock(), { report: (line) => lines.push(line) });
  const add = async (count) => (await Promise.all(Array.from({ length: count }, () => store.add(pet)))).at(-1).id;
  const loseAfter = (id) => pool.query(`DELETE FROM animal_store.pets WHERE id > ${id}; UPDATE animal_store.counter SET last = ${id}`);
  assert.equal(await add(5), 5);
  await loseAfter(2);
  assert.deepEqual([await add(1), await add(1), lines.length], [3, 4, 1]);
  assert.match(lines[0], /^animals up to 5 were confirmed, and the database has them up to 3 only: a failover or a restore lost the others/);
  assert.equal(await add(10), 14);
  await loseAfter(1);
  assert.equal((await changeStatus(store, 1, { status: "available", from: ["sold"] })).kind, "changed");
  assert.match(lines[1], /^animals up to 14 were confirmed, and the database has them up to 1 only/);
  assert.equal(lines.length, 2);
});
