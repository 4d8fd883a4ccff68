import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "../../build/test/support/until.js";
import { skipFaults, startPostgres } from "./postgres-server.js";
import { health, startService, timeUntil } from "./faults.js";
import { startInstance } from "./instance.js";
import { startProxy } from "./proxy.js";
import { startStandby } from "./standby.js";

const primary = await startPostgres();
const url = await primary?.createDatabase();
after(() => primary?.stop());

test("an instance led to a replica says so and is unhealthy, and serves soon after it is promoted", { skip: skipFaults }, async (context) => {
  const proxy = await startProxy(url);
  context.after(() => proxy.stop());
  const { instances: [instance], clients: [client] } = await startService(context, [proxy.url]);
  assert.equal((await client.add({ name: "Rex", categoryId: 1 })).status, 201);
  const standby = await startStandby(primary);
  context.after(() => standby.stop());
  const standbyUrl = standby.url(new URL(url).pathname.slice(1));
  await assert.rejects(startInstance(standbyUrl), /: the database is a replica or read-only: connect to the primary\n$/);

  await standby.catchUp(primary);
  proxy.lead(standbyUrl);
  await until("the instance is unhealthy", async () => (await health(client)) === 503);
  for (const path of ["/v1/pets", "/v1/pets/1"]) {
    assert.equal((await client.get(path)).status, 503);
  }
  const { status, text } = await client.add({ name: "Bello", categoryId: 1 });
  assert.deepEqual([status, JSON.parse(text).code], [503, "storage_unavailable"]);
  await until("it is told", () => instance.reports().includes("cannot be used"));
  assert.match(instance.reports(), /^warning: the database cannot be used[^\n]*: the database is a replica or read-only$/m);

  await standby.promote();
  const add = async () => (await client.add({ name: "Rex", categoryId: 1 })).status === 201;
  const recoveryMs = await timeUntil("creates work", add);
  assert.ok(recoveryMs < 2_000, `${recoveryMs} ms`);
  const rows = await standby.query("SELECT id::int AS id, name FROM animal_store.pets ORDER BY pets.id", [], standbyUrl);
  assert.deepEqual(rows, [{ id: 1, name: "Rex" }, { id: 2, name: "Rex" }]);
  assert.equal(await health(client), 200);
});

/** A database whose sessions say less, and wait for less, than a create relies on. */
async function createCarelessDatabase() {
  const careless = await primary.createDatabase();
  for (const setting of ["client_min_messages = error", "synchronous_commit = local"]) {
    await primary.query(`ALTER DATABASE ${new URL(careless).pathname.slice(1)} SET ${setting}`);
  }
  return careless;
}

test("with synchronous replication a create has no response, and is not seen, before the standby has it, whatever the session's defaults", { skip: skipFaults }, async (context) => {
  const { clients: [client] } = await startService(context, [await createCarelessDatabase()]);
  const standby = await startStandby(primary);
  context.after(async () => {
    await primary.set("synchronous_standby_names", "");
    await standby.stop();
  });
  await standby.catchUp(primary);
  await primary.set("synchronous_standby_names", "standby");
  await primary.query("CHECKPOINT"); // By the process whose reload makes commits wait.
  standby.pause();
  let early;
  const adding = client.add({ name: "Misty", categoryId: 1 }).then((response) => (early = response));
  const question = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query ~ 'animal_store.add'";
  await until("the create waits or has its response", async () => early !== undefined || (await primary.query(question)).length === 1);
  const seen = await client.get("/v1/pets"); // Its token is taken without a wait for the standby.
  assert.deepEqual([early?.status, seen.status, /Misty/.test(seen.text)], [undefined, 200, false]);
  standby.resume();
  assert.equal((await adding).status, 201);
});

test("while the wait for a standby is canceled, a create and a change of a key are in doubt, not made, whatever the session's defaults", { skip: skipFaults }, async (context) => {
  const { clients: [client], instances: [instance], id } = await startService(context, [await createCarelessDatabase()]);
  context.after(() => primary.set("synchronous_standby_names", ""));
  await primary.set("synchronous_standby_names", "nobody");
  await primary.query("CHECKPOINT");
  const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query ~ 'animal_store'";
  let isOver = false;
  const add = () => client.add({ name: "Rex", categoryId: 1 }, { "idempotency-key": "once" });
  const changing = Promise.allSettled([add(), instance.keys.plan(id, { plan: "pro" })]).finally(() => (isOver = true));
  while (!isOver) {
    await primary.query(`SELECT pg_cancel_backend(pid) ${waiting}`);
  }
  const [{ value: adding }, planning] = await changing;
  assert.deepEqual([adding.status, JSON.parse(adding.text).code], [503, "outcome_unknown"]);
  assert.match(planning.reason?.message ?? "it was made", /^the answer was lost, so the change may have been made/);

  const next = add();
  await until("it waits", async () => (await primary.query(`SELECT ${waiting}`)).length > 0);
  await primary.query(`SELECT pg_cancel_backend(pid) ${waiting}`);
  await primary.set("synchronous_standby_names", "");
  const { status, headers } = await next;
  assert.deepEqual([status, headers["idempotent-replayed"]], [201, "true"], "no standby is waited for any more");
});
