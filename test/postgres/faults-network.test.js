/**
 * A network between an instance and PostgreSQL that is cut, or loses what was under way.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { skipFaults, startEngine } from "./engine.js";
import { health, isServing, lock, lockCounter, startService, timeUntil, waitingAdd } from "./faults.js";
import { assertEachRemainingOnce, assertNothingLostOrDoubled, startLoad } from "./load.js";
import { installation } from "./installation.js";
import { startProxy } from "./proxy.js";

const skipBefore17 = installation?.release < 17 && "only PostgreSQL 17 and later have transaction_timeout";
let engine;
before(async () => {
  engine = await startEngine();
});
after(() => engine?.stop());

/** Two instances, the first one behind a proxy, or that one alone. */
async function startBehindProxy(context, count = 2) {
  const url = await engine.createDatabase();
  const proxy = await startProxy(url);
  context.after(() => proxy.stop());
  return { url, proxy, ...(await startService(context, [proxy.url, url].slice(0, count))) };
}

const isStored = async (url, name) => (await engine.query("SELECT FROM animal_store.pets WHERE name = $1", [name], url)).length === 1;

for (const [title, heal] of [
  ["connections go on", (proxy) => proxy.heal()],
  ["connections are forgotten", (proxy) => proxy.heal({ forget: true })],
]) {
  test(`in a cut requests get 503 quickly; within 2 s after it all is well (${title})`, { skip: skipFaults }, async (context) => {
    const { url, proxy, instances, clients, key } = await startBehindProxy(context);
    const load = startLoad(instances, key, { clients: 16 });
    await setTimeout(700);
    proxy.cut();
    const cutAt = performance.now();
    await setTimeout(4_500);
    assert.equal(await health(clients[0]), 503);
    const healedAt = performance.now();
    heal(proxy);
    const recoveryMs = await timeUntil("the instance serves again", () => isServing(clients[0]));
    assert.ok(recoveryMs < 2_000, `recovered after ${recoveryMs} ms`);
    await setTimeout(500);
    const record = await load.stop();

    const during = record.responses.filter(({ place, sentAt, at }) => place === 0 && sentAt > cutAt + 50 && at < healedAt);
    assert.ok(during.length > 10);
    assert.deepEqual([...new Set(during.map(({ code }) => code))], ["storage_unavailable"]);
    assert.ok(during.every(({ remaining }) => remaining > 900_000), "the fields show what was known last");
    const late = during.filter(({ sentAt, at }) => sentAt > cutAt + 3_500 && at - sentAt > 300);
    assert.equal(late.length, 0, "503 comes quickly once the cut is noticed");
    assert.ok(!record.responses.some(({ code }) => code === "outcome_unknown"), "every fate is learnt");
    assert.ok(record.longestGapMs(1) < 500, `the other instance had a gap of ${record.longestGapMs(1)} ms`);
    assertEachRemainingOnce(record);
    await assertNothingLostOrDoubled(engine, url, record);
  });
}

test("idle connections that are forgotten in a cut delay the recovery by less than 2 s, however many", { skip: skipFaults }, async (context) => {
  const { url, proxy, clients } = await startBehindProxy(context, 1);
  const { release } = await lock(context, url, "LOCK TABLE animal_store.pets, animal_store.counter, animal_store.key_events");
  const requests = [clients[0].get("/v1/pets"), clients[0].get("/v1/pets/1"), clients[0].add({ name: "Rex", categoryId: 1 })];
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
  const connections = requests.length + 1; // The other one looks for keys.
  await timeUntil("all wait", async () => (await engine.query(waiting, [], url)).length >= connections);
  await release();
  await Promise.all(requests);
  assert.ok(proxy.connectionCount() >= connections);
  proxy.cut();
  await timeUntil("the instance notices", async () => (await health(clients[0])) === 503);
  proxy.heal({ forget: true });
  const recoveryMs = await timeUntil("the instance serves again", () => isServing(clients[0]));
  assert.ok(recoveryMs < 2_000, `recovered after ${recoveryMs} ms`);
});

for (const [title, text] of [
  ["creates", "SELECT animal_store.add(gen_random_uuid(), '{Rex}', '{1}', '{sold}', '{null}')"],
  ["limits", "SELECT animal_store.take(array(SELECT key_id FROM animal_store.limits), '{1}', '{9}', '{9}')"],
]) {
  test(`a message of ${title} that never ends holds others up for 3 s`, { skip: skipFaults || skipBefore17 }, async (context) => {
    const url = await engine.createDatabase();
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
    await timeUntil("it holds its locks", async () => (await engine.query(holds, [], url)).length > 0);
    const heldMs = await timeUntil("a create works", async () => (await client.add({ name: "Rex", categoryId: 1 })).status === 201);
    assert.ok(heldMs < 4_000, `${heldMs} ms`);
  });
}

test("when connections are reset under load, the fence decides: nothing is lost or doubled", { skip: skipFaults }, async (context) => {
  const { url, proxy, instances, key } = await startBehindProxy(context);
  const load = startLoad(instances, key);
  for (let round = 0; round < 20; round += 1) {
    await setTimeout(100);
    proxy.holdResponses();
    await setTimeout(5 * (round % 3));
    proxy.reset();
    proxy.heal();
  }
  await setTimeout(300);
  const record = await load.stop();
  assert.ok(record.added.length > 100);
  assert.ok(!record.responses.some(({ code }) => code === "outcome_unknown"), "every fate is learnt");
  assertEachRemainingOnce(record);
  await assertNothingLostOrDoubled(engine, url, record);
});

for (const [title, lose] of [
  ["its connection is reset", (proxy) => proxy.reset()],
  ["nothing is heard of it", () => setTimeout(3_500)],
]) {
  test(`a create that is stored while its answer is lost gets 201 (${title})`, { skip: skipFaults }, async (context) => {
    const { url, proxy, clients } = await startBehindProxy(context);
    const { release } = await lock(context, url, lockCounter);
    const adding = clients[0].add({ name: "Rex", categoryId: 1 });
    await waitingAdd(engine, url);
    proxy.holdResponses();
    await release();
    await timeUntil("it is stored", () => isStored(url, "Rex"));
    await lose(proxy);
    proxy.heal();
    const { status, text } = await adding;
    assert.deepEqual([status, JSON.parse(text).id], [201, 1]);
  });
}

test("a create whose connection ends before it is stored gets 503, and is never stored", { skip: skipFaults }, async (context) => {
  const { url, clients } = await startBehindProxy(context);
  const { release } = await lock(context, url, lockCounter);
  const adding = clients[0].add({ name: "Rex", categoryId: 1 });
  const { pid } = await waitingAdd(engine, url);
  await engine.query("SELECT pg_terminate_backend($1)", [pid]);
  const { status, text } = await adding;
  assert.deepEqual([status, JSON.parse(text).code], [503, "storage_unavailable"]);
  await release();
  assert.equal(JSON.parse((await clients[0].add({ name: "Bello", categoryId: 1 })).text).id, 1);
  assert.equal(await isStored(url, "Rex"), false);
});

test("a create whose fate cannot be learnt within 10 s is outcome_unknown, and can be repeated", { skip: skipFaults }, async (context) => {
  const { url, proxy, clients } = await startBehindProxy(context);
  const { release } = await lock(context, url, lockCounter);
  const fields = { "idempotency-key": "once" };
  const startedAt = performance.now();
  const adding = clients[0].add({ name: "Rex", categoryId: 1 }, fields);
  await waitingAdd(engine, url);
  const waiting = clients[0].add({ name: "Bello", categoryId: 1 }).then((response) => ({ ...response, at: performance.now() }));
  await setTimeout(50);
  proxy.cut();
  await release();
  const { status, text } = await adding;
  assert.deepEqual([status, JSON.parse(text).code], [503, "outcome_unknown"]);
  assert.ok(performance.now() - startedAt < 16_000, `${performance.now() - startedAt} ms`);
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
