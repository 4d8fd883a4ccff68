/**
 * Rows that somebody has written by hand: which ones the database refuses, and which ones `export` does.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { systemClock as clock } from "../../build/src/base/clock.js";
import { nodeDisk as disk } from "../../build/src/disk/node-disk.js";
import { petStatuses } from "../../build/src/pets/members.js";
import { Database } from "../../build/src/postgres/database.js";
import { PostgresPetStore } from "../../build/src/postgres/postgres-pet-store.js";
import { inspect, prepareSchema } from "../../build/src/postgres/schema.js";
import { openPetStore } from "../../build/src/store/json-lines-pet-store.js";
import { exportDatabase } from "../../build/src/transfer/export-from-postgres.js";
import { guardedFolder } from "./guarded-folder.js";
import { openPool, skip, startPostgres } from "./postgres-server.js";
import { runCommand } from "./program.js";
import { createOld } from "./release-2.1.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

/** With the constraints or, as in a database that 2.0 filled, without. */
async function open(context, { isChecked = false } = {}) {
  const url = await createOld(postgres);
  const pool = openPool(context, url);
  if (!isChecked) {
    await pool.query("ALTER TABLE animal_store.pets DROP CONSTRAINT pets_id, DROP CONSTRAINT pets_status");
  }
  return { url, pool, database: new Database(pool, assert.fail) };
}

test("the database takes the statuses of the API, and no other", { skip }, async (context) => {
  const { pool } = await open(context, { isChecked: true });
  const definition = "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conname = 'pets_status'";
  const [{ text }] = (await pool.query(definition)).rows;
  assert.deepEqual(Array.from(text.matchAll(/'(\w+)'/g), ([, status]) => status).sort(), [...petStatuses].sort());
});

function exportOf(database, folder = guardedFolder("export")) {
  return database.transaction((query) => exportDatabase(query, folder, { disk, clock, report: assert.fail }));
}

const set = (what, where = "id = 1") => `UPDATE animal_store.pets SET ${what} WHERE ${where}`;
const setOnce = (what, where) => `UPDATE animal_store.once SET ${what} WHERE ${where}`;
const insert = (id) => `INSERT INTO animal_store.pets VALUES (${id}, 'Rex', 1, 'available')`;

for (const [statement, id] of [
  [insert(0), 0],
  [insert(-5), -5],
  [`${insert("9007199254740993")}; UPDATE animal_store.counter SET last = 9007199254740993`, "9007199254740993"],
  [set("name = ''"), 1],
  [set("name = repeat('x', 256)"), 1],
  [set("status = 'Sold'"), 1],
  [set("added = ''"), 1],
  [setOnce("hash = 'short'", "changed_to IS NULL"), 2],
  [setOnce("at = 'infinity'", "changed_to IS NULL"), 2],
  [setOnce("changed_to = 'gone'", "changed_to IS NOT NULL"), 1],
  ["INSERT INTO animal_store.once (hash, pet_id) VALUES (repeat('a', 22), 1), (repeat('b', 22), 1)", 1],
]) {
  test(`export refuses a row that no release writes by its id, and a start serves it: ${statement}`, { skip }, async (context) => {
    const { pool, database } = await open(context);
    await exportOf(database);
    await pool.query(statement);
    assert.match(await inspect(database, clock), /^the database is intact/);
    await assert.rejects(exportOf(database), { message: `the animal with the id ${id} is not as a release writes it: mend it by hand` });
  });
}

for (const [what, statement] of [["", ""], [" and deletes what is kept of the removal", "DELETE FROM animal_store.removed"]]) {
  test(`an export has an animal that was removed as it is when somebody brings it back by hand${what}`, { skip }, async (context) => {
    const { pool, database } = await open(context);
    await prepareSchema(database, () => undefined, "migrate");
    const store = new PostgresPetStore(database, clock);
    await store.changeStatus(1, { status: "sold", from: ["pending"] }, "c".repeat(22));
    await store.remove(1, { from: ["sold"] }, "r".repeat(22));
    await store.remove(2, { from: ["sold"] });
    await pool.query(`${insert(1)}; ${insert(2)}; ${statement}`);
    const folder = guardedFolder("export");
    assert.equal((await exportOf(database, folder)).animalCount, 2);
    const exported = await openPetStore({ disk, dataDir: folder, report: assert.fail });
    context.after(() => exported.close());
    const all = { after: 0, limit: 9, status: "available" };
    assert.equal(String((await exported.list(all)).json), (await store.list(all)).json);
  });
}

test("the command says so with exit code 1, and leaves no folder", { skip }, async (context) => {
  const { url, pool } = await open(context);
  await pool.query(set("status = 'Sold'", "id = 2"));
  const exported = await runCommand(["export", join(guardedFolder("out"), "out"), "--database", url]);
  assert.deepEqual([exported.code, exported.stdout], [1, ""]);
  assert.match(exported.stderr, /the animal with the id 2 is not as/);
});

test("no row gets a status or an id that is none", { skip }, async (context) => {
  const { pool } = await open(context, { isChecked: true });
  for (const statement of [set("status = 'Sold'", "id = 2"), set("status = ''", "id = 2"), insert(0), insert(-6), set("id = -id", "id = 2")]) {
    await assert.rejects(pool.query(statement), { code: "23514" }, statement); // check_violation
  }
  await pool.query(set("status = 'pending'", "id = 2"));
});
