/**
 * What stands beside the engine in tests: a standby, a small disk, PgBouncer.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { skipFaults, startEngine } from "./engine.js";
import { until } from "./guarded-folder.js";
import { skipPgBouncer, startPgBouncer } from "./pgbouncer.js";
import { createDatabaseOnSmallDisk, skipSmallDisk } from "./small-disk.js";
import { startStandby } from "./standby.js";

let engine;
before(async () => {
  engine = await startEngine();
});
after(() => engine?.stop());

test("a standby shows what the primary has committed, refuses to write, and takes over", { skip: skipFaults }, async (context) => {
  const url = await engine.createDatabase();
  await engine.query("CREATE TABLE written (value int)", [], url);
  const standby = await startStandby(engine);
  context.after(() => standby.stop());
  await engine.query("INSERT INTO written VALUES (1)", [], url);
  await standby.catchUp(engine);
  const standbyUrl = standby.url(new URL(url).pathname.slice(1));
  const [row] = await standby.query("SELECT value, pg_is_in_recovery() AS follows FROM written", [], standbyUrl);
  assert.deepEqual(row, { value: 1, follows: true });
  await assert.rejects(standby.query("INSERT INTO written VALUES (2)", [], standbyUrl), { code: "25006" });

  await engine.set("synchronous_standby_names", "standby");
  await engine.query("INSERT INTO written VALUES (2)", [], url);
  await engine.set("synchronous_standby_names", "");
  await standby.promote();
  assert.equal((await standby.query("SELECT FROM written", [], standbyUrl)).length, 2);
  await standby.query("INSERT INTO written VALUES (3)", [], standbyUrl);
});

test("on a full disk a write fails with 53100, and works when there is room again", { skip: skipSmallDisk }, async () => {
  const disk = await createDatabaseOnSmallDisk(engine);
  await engine.query("CREATE TABLE written (value text)", [], disk.url);
  const write = () => engine.query("INSERT INTO written SELECT repeat('x', 1000) FROM generate_series(1, 100)", [], disk.url);
  disk.fill();
  await assert.rejects(write(), { code: "53100" });
  disk.free();
  await write();
});

test("PgBouncer shares one connection among open clients, and works again soon after a crash", { skip: skipPgBouncer }, async (context) => {
  const url = await engine.createDatabase();
  const bouncer = await startPgBouncer(engine, { settings: { default_pool_size: 1 } });
  context.after(() => bouncer.stop());
  const [one, other] = [await connected(bouncer.urlOf(url)), await connected(bouncer.urlOf(url))];
  context.after(() => Promise.all([one, other].map((client) => client.end())));
  const backendOf = async (client) => (await client.query("SELECT pg_backend_pid() AS pid")).rows[0].pid;
  assert.equal(await backendOf(one), await backendOf(other));

  await engine.kill();
  const early = one.query("SELECT 1").catch(() => undefined); // PgBouncer may let it wait or refuse it.
  await engine.restart();
  await early;
  const isBack = () => connected(bouncer.urlOf(url)).then((client) => client.end().then(() => true), () => false);
  await until("PgBouncer connects again", isBack, { timeoutMs: 5_000 });
});

/** A client that has spoken with the engine. */
async function connected(connectionString) {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 3_000, query_timeout: 3_000 });
  client.on("error", () => undefined);
  await client.connect();
  await client.query("SELECT 1");
  return client;
}
