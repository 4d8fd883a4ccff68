/**
 * Rows that somebody has written by hand: which ones the database refuses.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { petStatuses } from "../../build/src/pets/members.js";
import { openPool, skip, startPostgres } from "./postgres-server.js";
import { createOld } from "./release-3.0.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

async function open(context) {
  return openPool(context, await createOld(postgres));
}

test("the database takes the statuses of the API, and no other", { skip }, async (context) => {
  const pool = await open(context);
  const definition = "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conname = 'pets_status'";
  const [{ text }] = (await pool.query(definition)).rows;
  assert.deepEqual(Array.from(text.matchAll(/'(\w+)'/g), ([, status]) => status).sort(), [...petStatuses].sort());
});

const set = (what, where = "id = 1") => `UPDATE animal_store.pets SET ${what} WHERE ${where}`;
const insert = (id) => `INSERT INTO animal_store.pets VALUES (${id}, 'Rex', 1, 'available')`;

test("no row gets a status or an id that is none", { skip }, async (context) => {
  const pool = await open(context);
  for (const statement of [set("status = 'Sold'", "id = 2"), set("status = ''", "id = 2"), insert(0), insert(-6), set("id = -id", "id = 2")]) {
    await assert.rejects(pool.query(statement), { code: "23514" }, statement); // check_violation
  }
  await pool.query(set("status = 'pending'", "id = 2"));
});
