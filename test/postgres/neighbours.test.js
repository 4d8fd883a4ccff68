/**
 * What stands beside PostgreSQL in tests: a standby, a small disk, PgBouncer.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { skipFaults, startPostgres } from "./postgres-server.js";
import { until } from "./guarded-folder.js";
import { skipPgBouncer, startPgBouncer } from "./pgbouncer.js";
import { createDatabaseOnSmallDisk, skipSmallDisk } from "./small-disk.js";
import { startStandby } from "./standby.js";

let postgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres?.stop());

test("a standby shows what the primary has committed, refuses to write, and takes over", { skip: skipFaults }, async (context) => {
  const url = await postgres.createDatabase();
  await postgres.query("CREATE TABLE written (value int)", [], url);
  const standby = await startStandby(postgres);
  context.after(() => standby.stop());
  await postgres.query("INSERT INTO written VALUES (1)", [], url);
  await standby.catchUp(postgres);
  const standbyUrl = standby.url(new URL(url).pathname.slice(1));
  const [row] = await standby.query("SELECT value, pg_is_in_recovery() AS follows FROM written", [], standbyUrl);
  assert.deepEqual(row, { value: 1, follows: true });
  await assert.rejects(standby.query("INSERT INTO written VALUES (2)", [], standbyUrl), { code: "25006" });

  await postgres.set("synchronous_standby_names", "standby");
  await postgres.query("INSERT INTO written VALUES (2)", [], url);
  await postgres.set("synchronous_standby_names", "");
  await standby.promote();
  assert.equal((await standby.query("SELECT FROM written", [], standbyUrl)).length, 2);
  await standby.query("INSERT INTO written VALUES (3)", [], standbyUrl);
});

test("on a full disk a write fails with 53100, and works when there is room again", { skip: skipSmallDisk }, async () => {
  const disk = await createDatabaseOnSmallDisk(postgres);
  await postgres.query("CREATE TABLE written (value text)", [], disk.url);
  const write = () => postgres.query("INSERT INTO written SELECT repeat('x', 1000) FROM generate_series(1, 100)", [], disk.url);
  disk.fill();
  await assert.rejects(write(), { code: "53100" });
  disk.free();
  await write();
});

test("PgBouncer shares one connection among open clients, and works again soon after a crash", { skip: skipPgBouncer }, async (context) => {
  const url = await postgres.createDatabase();
  const bouncer = await startPgBouncer(postgres, { settings: { default_pool_size: 1 } });
  context.after(() => bouncer.stop());
  const [one, other] = [await connected(bouncer.urlOf(url)), await connected(bouncer.urlOf(url))];
  context.after(() => Promise.all([one, other].map((client) => client.end())));
  const backendOf = async (client) => (await client.query("SELECT pg_backend_pid() AS pid")).rows[0].pid;
  assert.equal(await backendOf(one), await backendOf(other));

  await postgres.kill();
  const early = one.query("SELECT 1").catch(() => undefined); // PgBouncer may let it wait or refuse it.
  await postgres.restart();
  await early;
  const isBack = () => connected(bouncer.urlOf(url)).then((client) => client.end().then(() => true), () => false);
  await until("PgBouncer connects again", isBack, { timeoutMs: 5_000 });
});

/** A client that has spoken with PostgreSQL. */
async function connected(connectionString) {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 3_000, query_timeout: 3_000 });
  client.on("error", () => undefined);
  await client.connect();
  await client.query("SELECT 1");
  return client;
}
