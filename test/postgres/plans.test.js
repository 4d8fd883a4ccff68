/**
 * No function reads a table from end to end, also if the table was small when a connection planned it: connections keep
 * their plans while the tables grow.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Database } from "../../build/src/postgres/database.js";
import { prepareSchema } from "../../build/src/postgres/schema.js";
import { skip } from "./postgres-server.js";
import { createPlace } from "./places.js";

const calls = {
  get: "SELECT animal_store.get(ARRAY[1, 99])",
  "list all": "SELECT animal_store.list(ARRAY[0, 50], ARRAY[21, 3], ARRAY[NULL, NULL])",
  "list by status": "SELECT animal_store.list(ARRAY[0, 50], ARRAY[21, 3], ARRAY['sold', 'sold'])",
  "add, one of them again": `SELECT animal_store.add(
    gen_random_uuid(), ARRAY['Rex', 'Max'], ARRAY[1, 1], ARRAY['sold', 'sold'], ARRAY['hash1', gen_random_uuid()::text])`,
  "change_statuses, a removal and one of them again": `SELECT animal_store.change_statuses(
    gen_random_uuid(), ARRAY[1, 2], ARRAY['removed', 'sold'], ARRAY['sold', 'sold'], ARRAY[gen_random_uuid()::text, 'hash2'])`,
  take: "SELECT animal_store.take(ARRAY['key1', 'key2'], ARRAY[1, 1], ARRAY[60, 60], ARRAY[1000, 1000])",
  key_events_after: "SELECT animal_store.key_events_after(99, 1000)",
};

/** So few rows that PostgreSQL would rather read all of them than an index. */
const fill = `
INSERT INTO animal_store.pets SELECT n, 'Rex', 1, 'sold' FROM generate_series(1, 100) AS n;
UPDATE animal_store.counter SET last = 200;
INSERT INTO animal_store.removed SELECT n, '[]' FROM generate_series(101, 200) AS n;
INSERT INTO animal_store.once SELECT 'hash' || n, n FROM generate_series(1, 100) AS n;
INSERT INTO animal_store.commits SELECT gen_random_uuid() FROM generate_series(1, 100);
INSERT INTO animal_store.limits SELECT 'key' || n FROM generate_series(1, 100) AS n;
INSERT INTO animal_store.key_events SELECT n, '{}' FROM generate_series(1, 100) AS n;
ANALYZE`;

for (const [name, call] of Object.entries(calls)) {
  test(`${name} reads by the indexes, and is not compiled`, { skip }, async (context) => {
    const { pool, remove } = await createPlace();
    const client = await pool.connect();
    context.after(() => {
      client.release(true);
      return remove();
    });
    await prepareSchema(new Database(pool, assert.fail), () => undefined, "make");
    await client.query(fill);
    const messages = [];
    client.on("notice", ({ message }) => messages.push(message));
    await client.query(`LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on;
      SET auto_explain.log_nested_statements = on; SET auto_explain.log_level = warning`);
    await client.query(call);
    const plans = messages.join("\n");
    assert.ok(plans.includes(`Query Text: ${call}`), "the functions hide no plan"); // They hide notices.
    const scanned = [...plans.matchAll(/Seq Scan on (\w+)/g)].map(([, table]) => table);
    assert.deepEqual(scanned.filter((table) => table !== "counter"), [], plans); // It has one row.
    assert.doesNotMatch(plans, /hashed SubPlan/, plans); // It is made by reading an index from end to end.
    assert.doesNotMatch(plans, /JIT/);
  });
}
