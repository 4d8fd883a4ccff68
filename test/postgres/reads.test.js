/**
 * Reads that take long, as while a long transaction is open and animals change: they do not pile up.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { systemClock } from "../../build/src/base/clock.js";
import { Database } from "../../build/src/postgres/database.js";
import { PostgresPetStore } from "../../build/src/postgres/postgres-pet-store.js";
import { createPlace } from "./places.js";
import { skip } from "./postgres-server.js";

const query = { after: 0, limit: 20, status: "available" };
const empty = { json: "[]", nextAfter: undefined };

for (const [what, types, read] of [
  ["list", "bigint[], int[], text[], bigint[]", (store) => store.list(query)],
  ["get", "bigint[]", (store) => store.get(1)],
]) {
  test(`a ${what} that is given up ends in the database, too, and its bound outlives no transaction`, { skip }, async (context) => {
    const { pool, remove } = await createPlace();
    context.after(remove);
    const database = new Database(pool, () => undefined);
    const { rows: [{ body }] } = await pool.query(`SELECT pg_get_functiondef('animal_store.${what}(${types})'::regprocedure) AS body`);
    await pool.query(body.replace("  RETURN (", "  PERFORM pg_sleep(20); RETURN ("));
    const store = new PostgresPetStore(database, systemClock);
    await assert.rejects(read(store), { name: "StorageUnavailableError" });
    const running = `SELECT FROM pg_stat_activity WHERE state = 'active' AND query ~ 'animal_store.${what}' AND pid <> pg_backend_pid()`;
    await setTimeout(500);
    assert.equal((await pool.query(running)).rowCount, 0);
    assert.equal(database.isAvailable, true);
    for (const client of await Promise.all([pool.connect(), pool.connect()])) {
      assert.equal((await client.query("SHOW statement_timeout")).rows[0].statement_timeout, "0");
      client.release();
    }
  });
}

test("equal lists that wait share a statement; after a slow one the next have fewer lists, and after quick ones more", async (context) => {
  let nowMs = 0;
  context.mock.method(performance, "now", () => nowMs);
  const sizes = [];
  let takesMs = 0;
  const read = async (text) => {
    const count = /list\('\{([\d,]*)\}/.exec(text)[1].split(",").length;
    sizes.push(count);
    nowMs += takesMs;
    return [{ answer: JSON.stringify(Array(count).fill(null)) }];
  };
  const store = new PostgresPetStore({ isAvailable: true, read }, systemClock);
  assert.deepEqual(await Promise.all(Array.from({ length: 500 }, () => store.list(query))), Array(500).fill(empty));
  assert.deepEqual(sizes.splice(0), [1]);
  const ask = (count) => Promise.all(Array.from({ length: count }, (_, after) => store.list({ ...query, after })));
  takesMs = 1_000;
  await ask(100);
  assert.ok(sizes[0] >= 47 && sizes.at(-1) === 1, `${sizes}`);
  takesMs = 0;
  sizes.length = 0;
  await ask(300);
  assert.ok(sizes[0] === 1 && Math.max(...sizes) > 20, `${sizes}`);
});
