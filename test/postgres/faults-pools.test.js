/**
 * Pools that embedders bring, and PgBouncer between.
 */

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { after, test } from "node:test";
import { Database } from "../../build/src/postgres/database.js";
import { until } from "../../build/test/support/until.js";
import { openAnimalStore } from "../../dist/index.js";
import { openPool, skip, skipFaults, startPostgres } from "./postgres-server.js";
import { health, isServing, startService, timeUntil } from "./faults.js";
import { assertEachRemainingOnce, assertNothingLostOrDoubled, servedStatuses, startLoad } from "./load.js";
import { skipPgBouncer, startPgBouncer } from "./pgbouncer.js";
import { startProxy } from "./proxy.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

/** Every operation, and every change of a key. */
async function assertWorks({ instances, clients, id }) {
  const [client, other] = [clients[0], clients.at(-1)];
  const fields = { "idempotency-key": "once" };
  const added = await client.add({ name: "Rex", categoryId: 5 }, fields);
  const pet = { id: 1, name: "Rex", categoryId: 5, status: "available" };
  assert.deepEqual([added.status, JSON.parse(added.text)], [201, pet]);
  const again = await other.add({ name: "Rex", categoryId: 5 }, fields);
  assert.deepEqual([again.status, again.text, again.headers["idempotent-replayed"]], [201, added.text, "true"]);
  assert.equal((await other.add({ name: "Bello", categoryId: 5 }, fields)).status, 422);
  assert.deepEqual(JSON.parse((await other.get("/v1/pets/1")).text), pet);
  assert.equal((await other.get("/v1/pets/2")).status, 404);
  assert.deepEqual(JSON.parse((await other.get("/v1/pets?status=available")).text), [pet]);
  assert.equal(JSON.parse((await client.get("/v1/limits")).text).minute.remaining, 1_000_000 - 7);
  assert.equal(await health(client), 200);
  await instances[0].keys.plan(id, { plan: "free" });
  assert.equal((await client.get("/v1/pets")).headers["x-ratelimit-limit"], "60");
  await instances[0].keys.unban(id);
  const rotated = await instances[0].keys.rotate(id);
  assert.equal(rotated.id, id);
  assert.equal((await client.get("/v1/pets")).status, 401);
  await instances[0].keys.revoke(id);
  assert.equal((await instances[0].keys.list()).length, 1);
}

test("behind PgBouncer in transaction mode everything works, also under load and when it reconnects", { skip: skipPgBouncer }, async (context) => {
  const bouncer = await startPgBouncer(postgres, { settings: { default_pool_size: 5 } });
  context.after(() => bouncer.stop());
  const url = await postgres.createDatabase();
  await assertWorks(await startService(context, [bouncer.urlOf(url), bouncer.urlOf(url)]));

  const loaded = await postgres.createDatabase();
  const { instances, clients, key } = await startService(context, [bouncer.urlOf(loaded), bouncer.urlOf(loaded)]);
  const load = startLoad(context, instances, key);
  await timeUntil("animals are added", () => load.record.added.length > 100);
  await postgres.terminateBackends(loaded);
  await timeUntil("more are added", () => load.record.added.length > 200);
  await postgres.kill();
  await postgres.start();
  const areServing = async () => (await Promise.all(clients.map(isServing))).every(Boolean);
  const recoveryMs = await timeUntil("all serve again", areServing);
  assert.ok(recoveryMs < 3_500, `recovered after ${recoveryMs} ms`); // server_login_retry is 1 s.
  const record = await load.stop();
  await assertNothingLostOrDoubled(postgres, loaded, record);
});

test("a pool of one connection works, also under load", { skip }, async (context) => {
  await assertWorks(await startService(context, [await postgres.createDatabase()], { pool: { max: 1 } }));
  const url = await postgres.createDatabase();
  const { instances, key } = await startService(context, [url, url], { pool: { max: 1 } });
  const load = startLoad(context, instances, key, { clients: 32 });
  await timeUntil("animals are added", () => load.record.added.length > 200);
  const record = await load.stop();
  assert.ok(record.responses.every(({ status }) => servedStatuses.includes(status)), "every request is served");
  assertEachRemainingOnce(record);
  await assertNothingLostOrDoubled(postgres, url, record);
});

test("with a pool that never connects, the start fails soon", async () => {
  const pool = Object.assign(new EventEmitter(), { connect: () => new Promise(() => undefined) });
  const start = performance.now();
  await assert.rejects(openAnimalStore({ database: pool }), /no answer within/);
  assert.ok(performance.now() - start < 5_000);
  assert.equal(pool.listenerCount("error"), 0);
});

test("a statement that gets no answer within the pool's own query_timeout fails alone; with others, the database is away", { skip: skipFaults }, async (context) => {
  const proxy = await startProxy(await postgres.createDatabase());
  context.after(() => proxy.stop());
  const pool = openPool(context, proxy.url, { query_timeout: 200 });
  const reports = [];
  const database = new Database(pool, (message) => reports.push(message));
  await assert.rejects(database.run("SELECT pg_sleep(1)"), { effect: "unknown" });
  await until("it is told", () => reports.length > 0);
  assert.equal(database.isAvailable, true);
  assert.match(reports.splice(0).join(), /^the database did not answer a statement: Query read timeout$/);
  await database.run("SELECT 1"); // Its connection stays.
  proxy.cut();
  await assert.rejects(database.run("SELECT 1"), { effect: "unknown" });
  await until("it is away", () => !database.isAvailable);
  await assert.rejects(database.attempt("SELECT 1"), { effect: "none" });
  assert.match(reports.join(), /^the database cannot be used, requests get 503 until it can: no answer within 1.5 s$/);
});
