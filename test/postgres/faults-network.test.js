/**
 * A network between an instance and PostgreSQL that is cut, or loses what was under way.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { newClient } from "../../build/test/support/client.js";
import { until } from "../../build/test/support/until.js";
import { skipFaults, startPostgres } from "./postgres-server.js";
import { health, isServing, lock, startBehindProxy, timeUntil } from "./faults.js";
import { assertEachRemainingOnce, assertNothingLostOrDoubled, startLoad } from "./load.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

for (const [title, heal] of [
  ["connections go on", (proxy) => proxy.heal()],
  ["connections are forgotten", (proxy) => proxy.heal({ forget: true })],
]) {
  test(`in a cut requests get 503 quickly; within 2 s after it all is well (${title})`, { skip: skipFaults }, async (context) => {
    const { url, proxy, instances, clients, key } = await startBehindProxy(context, postgres);
    const load = startLoad(context, instances, key, { clients: 16 });
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
    const quickMs = 300 + record.longestGapMs(1); // A stall of this machine delays requests to both instances.
    const late = during.filter(({ sentAt, at }) => sentAt > cutAt + 3_500 && at - sentAt > quickMs);
    assert.equal(late.length, 0, "503 comes quickly once the cut is noticed");
    assert.ok(!record.responses.some(({ code }) => code === "outcome_unknown"), "every fate is learnt");
    assert.ok(record.longestGapMs(1) < 500, `the other instance had a gap of ${record.longestGapMs(1)} ms`);
    assertEachRemainingOnce(record);
    await assertNothingLostOrDoubled(postgres, url, record);
  });
}

test("a key that was made while an instance is cut off is 503 there, charged to nobody, and works 2 s after it", { skip: skipFaults }, async (context) => {
  const { proxy, instances: [instance, other], clients: [known] } = await startBehindProxy(context, postgres);
  proxy.refuse("reset");
  proxy.reset();
  const { key } = await other.keys.create({ plan: "free" });
  const fresh = newClient(instance, key);
  context.after(() => fresh.close());
  await until("the keys have not been read for 1 s", async () => (await fresh.get("/v1/pets")).status === 503);
  const before = await fresh.get("/v1/pets");
  for (let count = 0; count < 70; count += 1) {
    const { status, text, headers } = await fresh.get("/v1/pets");
    assert.deepEqual([status, JSON.parse(text).code], [503, "storage_unavailable"]);
    assert.equal(headers["x-ratelimit-remaining"], before.headers["x-ratelimit-remaining"]);
  }
  assert.equal((await known.get("/v1/pets")).status, 503);
  const wrong = newClient(instance, "as_wrong");
  context.after(() => wrong.close());
  assert.equal((await wrong.get("/v1/pets")).status, 401, "no key has that form");
  proxy.refuse(undefined);
  assert.ok((await timeUntil("the new key works", async () => (await fresh.get("/v1/pets")).status === 200)) < 2_000);
});

test("an instance that was cut off serves again although somebody has locked the key events, and says what it does not know", { skip: skipFaults },
  async (context) => {
    const { url, proxy, instances: [instance], clients: [client] } = await startBehindProxy(context, postgres);
    const { release } = await lock(context, url, "LOCK TABLE animal_store.key_events");
    proxy.refuse("reset");
    proxy.reset();
    await until("it is away", async () => (await health(client)) === 503);
    proxy.refuse(undefined);
    await timeUntil("it serves", () => isServing(client));
    assert.equal(await health(client), 200);
    await until("it says so", () => /Cannot read keys: .*; keys known so far go on working, and what changes elsewhere is not known/.test(instance.reports()));
    await release();
    await until("the keys are read", () => /the key events in the database can be read again/.test(instance.reports()));
  });
