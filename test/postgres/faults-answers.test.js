/**
 * Single statements whose answer is lost, or whose message never ends.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { systemClock } from "../../dist/base/clock.js";
import { Database } from "../../dist/postgres/database.js";
import { PostgresPetStore } from "../../dist/postgres/postgres-pet-store.js";
import { until } from "../../build/test/support/until.js";
import { openPool, skipFaults, startPostgres } from "./postgres-server.js";
import { addingBatch, isServing, lock, lockCounter, lockWaits, startBehindProxy, startService, timeUntil } from "./faults.js";
import { installation } from "./installation.js";
import { startProxy } from "./proxy.js";

const skipBefore17 = installation?.release < 17 && "only PostgreSQL 17 and later have transaction_timeout";

const postgres = await startPostgres();
after(() => postgres?.stop());

/** At once, because they wait most of the time. */
describe("lost answers", { concurrency: 4 }, () => {
  const isStored = async (url, name) => (await postgres.query("SELECT FROM animal_store.pets WHERE name = $1", [name], url)).length === 1;

  for (const [title, text] of [
    ["creates", `SELECT animal_store.add(gen_random_uuid(), '[{"name":"Rex","categoryId":1,"status":"sold"}]', '{null}')`],
    ["limits", "SELECT animal_store.take(array(SELECT key_id FROM animal_store.limits), '{1}', '{9}', '{9}')"],
  ]) {
    test(`a message of ${title} that never ends holds others up for 3 s`, { skip: skipFaults || skipBefore17 }, async (context) => {
      const url = await postgres.createDatabase();
      const { clients: [client] } = await startService(context, [url]);
      assert.equal((await client.get("/v1/pets")).status, 200);
      const cutOff = new pg.Client({ connectionString: url });
      context.after(() => cutOff.end());
      cutOff.on("error", () => undefined);
      await cutOff.connect();
      cutOff.connection.parse({ text });
      cutOff.connection.bind({});
      cutOff.connection.execute({});
      cutOff.connection.flush(); // What would follow is Sync, which commits.
      const holds = "SELECT FROM pg_locks WHERE mode = 'RowExclusiveLock' AND relation::regclass::text ~ 'counter|limits'";
      await timeUntil("it holds its locks", async () => (await postgres.query(holds, [], url)).length > 0);
      const heldMs = await timeUntil("a create works", async () => (await client.add({ name: "Rex", categoryId: 1 })).status === 201);
      assert.ok(heldMs < 4_000, `${heldMs} ms`);
    });
  }

  for (const [title, lose] of [
    ["its connection is reset", (proxy) => proxy.reset()],
    ["nothing is heard of it", () => setTimeout(3_500)],
  ]) {
    test(`a create that is stored while its answer is lost gets 201 (${title})`, { skip: skipFaults }, async (context) => {
      const { url, proxy, clients } = await startBehindProxy(context, postgres);
      const { release } = await lock(context, url, lockCounter);
      let isAnswered = false;
      const adding = clients[0].add({ name: "Rex", categoryId: 1 }).finally(() => (isAnswered = true));
      await lockWaits(postgres, url, addingBatch);
      proxy.holdResponses();
      await release();
      await timeUntil("it is stored", () => isStored(url, "Rex"));
      assert.equal(isAnswered, false);
      await lose(proxy);
      proxy.heal();
      const { status, text } = await adding;
      assert.deepEqual([status, JSON.parse(text).id], [201, 1]);
    });
  }

  test("a create whose connection ends before it is stored gets 503, and is never stored", { skip: skipFaults }, async (context) => {
    const { url, clients } = await startBehindProxy(context, postgres);
    const { release } = await lock(context, url, lockCounter);
    const adding = clients[0].add({ name: "Rex", categoryId: 1 });
    const [{ pid }] = await lockWaits(postgres, url, addingBatch);
    await postgres.query("SELECT pg_terminate_backend($1)", [pid]);
    const { status, text } = await adding;
    assert.deepEqual([status, JSON.parse(text).code], [503, "storage_unavailable"]);
    await release();
    assert.equal(JSON.parse((await clients[0].add({ name: "Bello", categoryId: 1 })).text).id, 1);
    assert.equal(await isStored(url, "Rex"), false);
  });

  test("a create whose fate cannot be learnt within 10 s is outcome_unknown, and can be repeated", { skip: skipFaults }, async (context) => {
    const { url, proxy, clients } = await startBehindProxy(context, postgres);
    const { release } = await lock(context, url, lockCounter);
    const fields = { "idempotency-key": "once" };
    const startedAt = performance.now();
    const adding = clients[0].add({ name: "Rex", categoryId: 1 }, fields);
    await lockWaits(postgres, url, addingBatch);
    const waiting = clients[0].add({ name: "Bello", categoryId: 1 }).then((response) => ({ ...response, at: performance.now() }));
    await setTimeout(50);
    proxy.cut();
    await release();
    const { status, text } = await adding;
    assert.deepEqual([status, JSON.parse(text).code], [503, "outcome_unknown"]);
    const tookMs = performance.now() - startedAt; // 3 s until the statement is given up, and 10 s in which its fate is asked for.
    assert.ok(tookMs > 12_900 && tookMs < 17_000, `${tookMs} ms`);
    const other = await waiting;
    assert.equal(JSON.parse(other.text).code, "storage_unavailable", "what was never sent is not in doubt");
    assert.ok(other.at - startedAt < 5_000, `what was never sent waited ${other.at - startedAt} ms`);
    proxy.heal();
    await timeUntil("the instance serves again", () => isServing(clients[0]), { timeoutMs: 2_000 });
    for (const client of clients) {
      const again = await client.add({ name: "Rex", categoryId: 1 }, fields);
      assert.deepEqual([again.status, JSON.parse(again.text).id, again.headers["idempotent-replayed"]], [201, 1, "true"]);
    }
  });

  test("a change whose fate cannot be learnt within 10 s is outcome_unknown, and repeated it is one change", { skip: skipFaults }, async (context) => {
    const { url, proxy, clients: [cutOff, other] } = await startBehindProxy(context, postgres);
    const created = await cutOff.add({ name: "Rex", categoryId: 1 });
    const { release } = await lock(context, url, lockCounter);
    const sell = (client) => client.change(1, "sold", { "if-match": "available", "idempotency-key": "once" });
    const selling = sell(cutOff);
    await lockWaits(postgres, url, { of: "animal_store.change" });
    proxy.cut();
    await release();
    const free = async () => (await other.change(1, "available", { "if-match": "sold" })).status === 200;
    await timeUntil("it is stored, and somebody changes the animal back", free);
    const { status, text } = await selling;
    assert.deepEqual([status, JSON.parse(text).code], [503, "outcome_unknown"]);
    proxy.heal();
    await timeUntil("the instance serves again", () => isServing(cutOff), { timeoutMs: 2_000 });
    for (const client of [cutOff, other]) {
      const again = await sell(client);
      assert.deepEqual([again.status, again.headers["idempotent-replayed"]], [200, "true"]);
      assert.deepEqual(JSON.parse(again.text), { ...JSON.parse(created.text), status: "sold" });
      assert.equal((await client.get("/v1/pets/1")).text, created.text, "it is not changed once more");
    }
  });

  test("a rotation whose fate cannot be learnt within 10 s says that it may have been made", { skip: skipFaults }, async (context) => {
    const { url, proxy, instances: [instance], id } = await startBehindProxy(context, postgres, 1);
    const { release } = await lock(context, url, "LOCK TABLE animal_store.key_events IN SHARE MODE");
    const rotating = instance.keys.rotate(id);
    rotating.catch(() => undefined);
    await lockWaits(postgres, url, { of: "append_key_event" });
    proxy.cut();
    await release();
    await assert.rejects(rotating, { message: "the answer was lost, so the change may have been made: list the keys" });
  });

  test("creates that arrive late, after a cut, are stored only if they get 201", { skip: skipFaults }, async (context) => {
    const url = await postgres.createDatabase();
    await startService(context, [url]);
    const senders = await Promise.all(["Rex", "Bello", "Luna", "Mimi"].map(async (name) => {
      const proxy = await startProxy(url);
      const pool = openPool(context, proxy.url, { connectionTimeoutMillis: 1_000 });
      context.after(() => proxy.stop());
      const store = new PostgresPetStore(new Database(pool, () => undefined), systemClock);
      await store.get(1); // This opens a connection.
      return { name, proxy, add: () => store.add({ name, categoryId: 1n, status: "sold" }) };
    }));
    senders.forEach(({ proxy }) => proxy.cut());
    const adding = Promise.allSettled(senders.map(({ add }) => add()));
    await setTimeout(3_300); // The statements are given up, and on their way still.
    senders.forEach(({ proxy }) => proxy.heal());
    const outcomes = await adding;
    const active = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()";
    await until("no statement is on its way", async () => (await postgres.query(active, [], url)).length === 0);
    for (const [index, { name }] of senders.entries()) {
      const { status, reason } = outcomes[index];
      assert.equal(reason?.name ?? "StorageUnavailableError", "StorageUnavailableError");
      assert.equal(await isStored(url, name), status === "fulfilled", `${name} was ${status}`);
    }
  });
});
