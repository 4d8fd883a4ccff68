/**
 * No function reads a table from end to end, also if the table was small when a connection planned it: connections keep
 * their plans while the tables grow.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { skip } from "./postgres-server.js";
import { createPlace } from "./places.js";

const calls = {
  get: "SELECT animal_store.get(ARRAY[1, 99])",
  "list all": "SELECT animal_store.list(ARRAY[0, 50], ARRAY[21, 3], ARRAY[NULL, NULL])",
  "list by status": "SELECT animal_store.list(ARRAY[0, 50], ARRAY[21, 3], ARRAY['sold', 'sold'])",
  "list by category": "SELECT animal_store.list(ARRAY[0, 50], ARRAY[21, 3], ARRAY[NULL, 'sold'], ARRAY[1, 1])",
  "add, one of them again": `SELECT animal_store.add(
    gen_random_uuid(), '[{"name":"Rex","categoryId":1,"status":"sold"},{"name":"Max","categoryId":1,"status":"sold"}]',
    ARRAY['hash1', gen_random_uuid()::text])`,
  "change, a removal, a correction and one of them again": `SELECT animal_store.change(
    gen_random_uuid(), ARRAY[1, 2, 3], ARRAY['{"status":"removed"}', '{"name":"Max"}', '{"status":"sold"}']::json[],
    ARRAY['sold', 'sold-1', 'sold'], ARRAY['', '', ''], ARRAY[gen_random_uuid()::text, gen_random_uuid()::text, 'hash3'])`,
  "change_statuses, one of them again": `SELECT animal_store.change_statuses(
    gen_random_uuid(), ARRAY[1, 2], ARRAY['sold', 'sold'], ARRAY['sold', 'sold'], ARRAY[gen_random_uuid()::text, 'hash2'])`,
  take: "SELECT animal_store.take(ARRAY['key1', 'key2'], ARRAY[1, 1], ARRAY[60, 60], ARRAY[1000, 1000])",
  key_events_after: "SELECT animal_store.key_events_after(99, 1000)",
};

/** So few rows that PostgreSQL would rather read all of them than an index. */
const fill = `
INSERT INTO animal_store.pets SELECT n, 'Rex', 1, 'sold' FROM generate_series(1, 100) AS n;
UPDATE animal_store.counter SET last = 200;
INSERT INTO animal_store.removed SELECT n, '[]' FROM generate_series(101, 200) AS n;
INSERT INTO animal_store.once SELECT 'hash' || n, n, now(), 'sold' FROM generate_series(1, 100) AS n;
INSERT INTO animal_store.commits SELECT gen_random_uuid() FROM generate_series(1, 100);
INSERT INTO animal_store.limits SELECT 'key' || n FROM generate_series(1, 100) AS n;
INSERT INTO animal_store.key_events SELECT n, '{}' FROM generate_series(1, 100) AS n;
ANALYZE`;

const explain = `LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on;
  SET auto_explain.log_nested_statements = on; SET auto_explain.log_level = warning`;

/** A connection to a database of its own, and what it is told. */
async function connect(context) {
  const { pool, remove } = await createPlace();
  const client = await pool.connect();
  context.after(() => {
    client.release(true);
    return remove();
  });
  const messages = [];
  client.on("notice", ({ message }) => messages.push(message));
  return { client, messages };
}

for (const [name, call] of Object.entries(calls)) {
  test(`${name} reads by the indexes, and is not compiled`, { skip }, async (context) => {
    const { client, messages } = await connect(context);
    await client.query(fill);
    await client.query(explain);
    await client.query(call);
    const plans = messages.join("\n");
    assert.ok(plans.includes(`Query Text: ${call}`), "the functions hide no plan"); // They hide notices.
    const scanned = [...plans.matchAll(/Seq Scan on (\w+)/g)].map(([, table]) => table);
    assert.deepEqual(scanned.filter((table) => table !== "counter"), [], plans); // It has one row.
    assert.doesNotMatch(plans, /hashed SubPlan/, plans); // It is made by reading an index from end to end.
    assert.doesNotMatch(plans, /JIT/);
  });
}

const statuses = [null, "available", "pending", "sold"];

/** In none of these a category has as many animals as the table's statistics say. */
for (const [what, category, status] of [
  ["a category that most animals have", "CASE WHEN n % 1000 = 7 THEN 7 ELSE 1 END", "CASE n % 9 WHEN 0 THEN 'pending' WHEN 1 THEN 'sold' ELSE 'available' END"],
  ["categories of ten animals each", "n / 10", "CASE n % 3 WHEN 0 THEN 'sold' ELSE 'available' END"],
  ["a category whose few animals come last", "CASE WHEN n > 59990 THEN 7 ELSE 1 END", "'sold'"],
]) {
  test(`a page of ${what} reads no more of the index than it shows, and two`, { skip }, async (context) => {
    const { client, messages } = await connect(context);
    const list = "SELECT animal_store.list(ARRAY[$1::bigint], ARRAY[101], ARRAY[$2], ARRAY[$3::bigint])::text AS answer";
    await client.query(list, [0, "sold", 1]); // Planned while the table is empty, and used as it grows.
    await client.query(`INSERT INTO animal_store.pets SELECT n, 'Rex', ${category}, ${status} FROM generate_series(1, 60000) AS n`);
    await client.query(explain);
    for (const isAnalyzed of [false, true]) {
      await (isAnalyzed && client.query("ANALYZE animal_store.pets"));
      for (const values of [1, 7, 5000].flatMap((one) => statuses.flatMap((status) => [[0, status, one], [59_000, status, one]]))) {
        messages.length = 0;
        const [page] = JSON.parse((await client.query(list, values)).rows[0].answer);
        const reads = [...messages.join("\n").matchAll(/(?:Index Scan|Heap Scan|Seq Scan)[^\n]* on pets\w*[^\n]*actual time=\S+ rows=([\d.]+) loops=(\d+)/g)];
        const read = reads.reduce((sum, [, rows, loops]) => sum + rows * loops, 0);
        const shown = page?.length ?? 0;
        assert.ok(read >= shown && read <= shown + 2, `${values}: ${read} rows\n${messages.join("\n")}`);
        assert.doesNotMatch(messages.join("\n"), /Rows Removed by Filter/);
      }
    }
  });
}
