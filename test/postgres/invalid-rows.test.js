/**
 * Rows that somebody has written by hand: which ones the database refuses, and what check and export say of the others.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { systemClock as clock } from "../../build/src/base/clock.js";
import { nodeDisk as disk } from "../../build/src/disk/node-disk.js";
import { Database } from "../../build/src/postgres/database.js";
import { inspect, prepareSchema } from "../../build/src/postgres/schema.js";
import { exportDatabase } from "../../build/src/transfer/move-out.js";
import { guardedFolder } from "./guarded-folder.js";
import { openPool, skip, startPostgres } from "./postgres-server.js";
import { runCommand } from "./program.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

/** As release 2.0 made it, so without the constraints: the animals 1 and 2, a create and a change with a hash. */
async function openOld(context) {
  const url = await postgres.createDatabase();
  const pool = openPool(context, url);
  await pool.query(readFileSync(new URL("release-2.0.sql", import.meta.url), "utf8"));
  return { url, pool, database: new Database(pool, assert.fail) };
}

function exportOf(database) {
  const folder = guardedFolder("export");
  return database.transaction((query) => exportDatabase(query, folder, { disk, clock, report: assert.fail }));
}

const set = (what, where = "id = 1") => `UPDATE animal_store.pets SET ${what} WHERE ${where}`;
const setOnce = (what, where) => `UPDATE animal_store.once SET ${what} WHERE ${where}`;
const insert = (id) => `INSERT INTO animal_store.pets VALUES (${id}, 'Rex', 1, 'available')`;

for (const [statement, column, id, first = String(id)] of [
  [insert(0), "pets.id", 0],
  [insert(-5), "pets.id", -5],
  [`${insert("9007199254740993")}; UPDATE animal_store.counter SET last = 9007199254740993`, "pets.id", "9007199254740993"],
  [set("name = ''"), "pets.name", 1],
  [set("name = repeat('x', 256)"), "pets.name", 1],
  [set("status = 'Sold'"), "pets.status", 1],
  [set("added = ''"), "pets.added", 1],
  [setOnce("hash = 'short'", "status IS NULL"), "once.hash", 2, "short"],
  [setOnce("at = 'infinity'", "status IS NULL"), "once.at", 2, ".{22}"],
  [setOnce("status = 'gone'", "status IS NOT NULL"), "once.status", "\\d", ".{22}"],
]) {
  test(`check counts a row by its column, and export refuses it by its id: ${statement}`, { skip }, async (context) => {
    const { pool, database } = await openOld(context);
    assert.deepEqual((await inspect(database, clock)).remarks, []);
    await exportOf(database);
    await pool.query(statement);
    const { remarks } = await inspect(database, clock);
    assert.equal(remarks.length, 1);
    assert.match(remarks[0], new RegExp(`^export refuses 1 row with a ${column} that no release writes, first that of ${first}$`));
    await assert.rejects(exportOf(database), { message: new RegExp(`^the animal with the id ${id} has a ${column} that no release writes`) });
  });
}

test("export refuses an animal that has two hashes of a create", { skip }, async (context) => {
  const { pool, database } = await openOld(context);
  await pool.query("INSERT INTO animal_store.once (hash, pet_id) VALUES (repeat('a', 22), 1), (repeat('b', 22), 1)");
  await assert.rejects(exportOf(database), { message: /the id 1 has a once\.pet_id/ });
});

test("the commands say so: check with exit code 0, export with 1 and no folder", { skip }, async (context) => {
  const { url, pool } = await openOld(context);
  await pool.query(set("status = 'Sold'", "id IN (1, 2)"));
  const checked = await runCommand(["check", "--database", url]);
  assert.equal(checked.code, 0);
  assert.match(checked.stdout, /2 animals.*\nit would serve, but export refuses 2 rows with a pets\.status .*\nthe server would start\n$/);
  const exported = await runCommand(["export", join(guardedFolder("out"), "out"), "--database", url]);
  assert.deepEqual([exported.code, exported.stdout], [1, ""]);
  assert.match(exported.stderr, /the animal with the id 1 has a pets\.status/);
});

test("check ends soon whatever the counter says", { skip, timeout: 20_000 }, async (context) => {
  const { pool, database } = await openOld(context);
  await pool.query("UPDATE animal_store.counter SET last = 9223372036854775807");
  assert.match((await inspect(database, clock)).inWords, /2 animals/);
});

test("once a start has migrated it, no row gets a status or an id that is none, and older ones stay", { skip }, async (context) => {
  const { pool, database } = await openOld(context);
  await pool.query(`${set("status = 'Sold'")}; ${insert(-5)}`);
  await prepareSchema(database, () => undefined);
  for (const statement of [set("status = 'Sold'", "id = 2"), set("status = ''", "id = 2"), insert(0), insert(-6), set("id = -id", "id = 2")]) {
    await assert.rejects(pool.query(statement), { code: "23514" }, statement); // check_violation
  }
  await pool.query(set("status = 'pending'", "id = 2"));
  const { rows } = await pool.query("SELECT id::int, status FROM animal_store.pets ORDER BY id");
  assert.deepEqual(rows.map(({ id, status }) => `${id} ${status}`), ["-5 available", "1 Sold", "2 pending"]);
});
