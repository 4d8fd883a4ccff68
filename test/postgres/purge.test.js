/**
 * The hourly purge removes what has no effect any more, and nobody notices.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../build/src/base/clock.js";
import { openPostgres } from "../../build/src/postgres/postgres-engine.js";
import { mockTimers } from "../../build/test/support/mock-timers.js";
import { until } from "../../build/test/support/until.js";
import { ifMatch } from "../../build/test/support/store-suites/suite-steps.js";
import { skip } from "./postgres-server.js";
import { createPlace } from "./places.js";

const plan = { name: "free", perMinute: 60, perDay: 1_000 };
const hourMs = 3_600_000;

/** An engine on a new database, whose purge begins with `purge()`. */
async function start(context) {
  const { pool, remove } = await createPlace();
  const timers = mockTimers(context, "setInterval");
  const reports = [];
  const engine = await openPostgres({ pool, clock: systemClock, report: (message) => reports.push(message) });
  const holder = await pool.connect();
  context.after(async () => {
    holder.release(true);
    await engine.close();
    await remove();
  });
  const query = async (text) => (await pool.query(text)).rows;
  /** Locks rows until `holder` ends its transaction. */
  const hold = (text) => holder.query(`BEGIN; ${text} FOR UPDATE`);
  return { engine, pool, query, hold, holder, reports, tick: timers.tick, purge: () => timers.tick(hourMs) };
}

test("a key whose limits are purged while its request waits is served as a new one", { skip }, async (context) => {
  const { engine, query, hold, holder, purge } = await start(context);
  await Promise.all([engine.limiter.take("a", plan), engine.limiter.take("b", plan)]);
  await query("UPDATE animal_store.limits SET minute_used = 50, minute_ends = 1, day_ends = 1, last_at = 1 WHERE key_id = 'b'");
  await hold("SELECT FROM animal_store.limits WHERE key_id = 'a'");
  const decisions = Promise.all([engine.limiter.take("a", plan), engine.limiter.take("b", plan)]);
  await until("the batch waits", async () => (await query("SELECT FROM pg_locks WHERE NOT granted")).length > 0);
  purge();
  await until("b is purged", async () => (await query("SELECT FROM animal_store.limits WHERE key_id = 'b'")).length === 0);
  await holder.query("COMMIT");
  const [a, b] = await decisions;
  assert.deepEqual([a.kind, a.remaining], ["allowed", 58]);
  assert.deepEqual([b.kind, b.remaining], ["allowed", 59]);
  assert.ok(b.resetSeconds > Date.now() / 1_000);
});

test("a removed animal is purged 24 hours later, and neither sooner nor with the hashes that count", { skip }, async (context) => {
  const { engine, query, purge } = await start(context);
  const rex = { name: "Rex", categoryId: 1n, status: "available" };
  const hashes = ["a", "b"].map((letter) => letter.repeat(22));
  for (const [index, hash] of hashes.entries()) {
    await engine.store.add(rex, hash);
    await engine.store.remove(index + 1, ifMatch("available"));
  }
  await query("UPDATE animal_store.removed SET at = now() - interval '24 hours 1 second' WHERE id = 1");
  await query("UPDATE animal_store.once SET at = now() - interval '24 hours 2 seconds' WHERE pet_id = 1");
  purge();
  await until("the first one is purged", async () => (await query("SELECT FROM animal_store.removed")).length === 1);
  assert.equal((await engine.store.add(rex, hashes[1])).isReplay, true);
  assert.equal((await engine.store.add(rex, hashes[0])).id, 3);
});

test("a purge under way ends with its piece when the engine is closed, which waits for it", { skip }, async (context) => {
  const { engine, pool, query, holder, reports, purge } = await start(context);
  await query(`INSERT INTO animal_store.commits (id, at)
    SELECT gen_random_uuid(), now() - interval '2 hours' FROM generate_series(1, 30000)`);
  await holder.query("BEGIN; LOCK TABLE animal_store.commits");
  purge();
  await until("the purge waits", async () => (await query("SELECT FROM pg_locks WHERE NOT granted")).length > 0);
  let isClosed = false;
  const closing = engine.close().then(() => (isClosed = true));
  await until("only the holder and the purge are connected", () => pool.totalCount - pool.idleCount === 2);
  await query("SELECT");
  assert.equal(isClosed, false);
  await holder.query("COMMIT");
  await closing;
  assert.equal(pool.totalCount - pool.idleCount, 1, "only the holder's connection is in use");
  assert.ok((await query("SELECT FROM animal_store.commits")).length > 0);
  assert.deepEqual(reports, []);
});

test("the first purge is 5 minutes after a start, and the next one an hour later", { skip }, async (context) => {
  const { query, tick } = await start(context);
  const old = "INSERT INTO animal_store.commits (id, at) VALUES (gen_random_uuid(), '-infinity')";
  const isEmpty = async () => (await query("SELECT FROM animal_store.commits")).length === 0;
  await query(old);
  tick(hourMs / 12);
  await until("it is purged", isEmpty);
  await query(old);
  tick(hourMs - 1);
  assert.equal(await isEmpty(), false);
  tick(1);
  await until("it is purged again", isEmpty);
});

test("a purge that fails is reported, and the next one removes what it left", { skip }, async (context) => {
  const { query, reports, purge } = await start(context);
  await query("INSERT INTO animal_store.commits (id, at) VALUES (gen_random_uuid(), '-infinity')");
  await query("ALTER TABLE animal_store.once RENAME TO away");
  purge();
  await until("it is reported", () => reports.length === 1);
  assert.match(reports[0], /^the database refused a statement: /);
  await query("ALTER TABLE animal_store.away RENAME TO once");
  purge();
  await until("the old commit is purged", async () => (await query("SELECT FROM animal_store.commits")).length === 0);
});

for (const [table, fill] of [
  ["commits", "(id, at) SELECT gen_random_uuid(), '-infinity'"],
  ["once", "SELECT n::text, n, '-infinity'"],
  ["limits", "(key_id) SELECT n::text"],
]) {
  test(`what is old is purged from ${table} if it is larger than the other tables`, { skip }, async (context) => {
    const { query, purge } = await start(context);
    await query(`INSERT INTO animal_store.${table} ${fill} FROM generate_series(1, 30000) AS n`);
    purge();
    await until("it is empty", async () => (await query(`SELECT FROM animal_store.${table} LIMIT 1`)).length === 0);
  });
}

test("what is old is purged although somebody holds a part of it, and what is young stays", { skip }, async (context) => {
  const { query, hold, reports, purge } = await start(context);
  // Several pieces.
  await query(`INSERT INTO animal_store.commits (id, at)
    SELECT gen_random_uuid(), now() - interval '61 minutes' FROM generate_series(1, 100000)`);
  await query("INSERT INTO animal_store.commits (id, at) VALUES (gen_random_uuid(), now() - interval '59 minutes')");
  await query(`INSERT INTO animal_store.once
    SELECT 'old' || n, n, now() - interval '24 hours 1 minute' FROM generate_series(1, 2) AS n`);
  await query("INSERT INTO animal_store.once VALUES ('young', 3, now() - interval '23 hours 59 minutes')");
  await query("INSERT INTO animal_store.limits (key_id, day_ends, ban_until) VALUES ('idle', 1, 1)");
  await query(`INSERT INTO animal_store.limits (key_id, day_ends, ban_until)
    VALUES ('remembered', 1, animal_store.clock_ms() - 86390000), ('open', animal_store.clock_ms() + 10000, 0)`);
  await hold("SELECT FROM animal_store.once WHERE hash = 'old1'");
  purge();
  await until("the old commits are purged", async () => (await query("SELECT FROM animal_store.commits")).length === 1);
  assert.equal((await query("SELECT FROM animal_store.limits")).length, 2);
  assert.deepEqual((await query("SELECT pet_id::int AS id FROM animal_store.once ORDER BY 1")).map(({ id }) => id), [1, 3]);
  assert.deepEqual(reports, []);
});
