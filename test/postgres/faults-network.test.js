/**
 * A network between an instance and PostgreSQL that is cut, or loses what was under way.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { skipFaults, startPostgres } from "./postgres-server.js";
import { health, isServing, startBehindProxy, timeUntil } from "./faults.js";
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

test("when connections are reset under load, no animal is lost or doubled", { skip: skipFaults }, async (context) => {
  const { url, proxy, instances, key } = await startBehindProxy(context, postgres);
  const load = startLoad(context, instances, key);
  for (let round = 0; round < 20; round += 1) {
    await setTimeout(100);
    proxy.holdResponses();
    await setTimeout(5 * (round % 3));
    proxy.reset();
    proxy.heal();
  }
  await setTimeout(300);
  const record = await load.stop();
  assert.ok(record.added.length > 50);
  assert.ok(!record.responses.some(({ code }) => code === "outcome_unknown"), "every fate is learnt");
  assertEachRemainingOnce(record);
  await assertNothingLostOrDoubled(postgres, url, record);
});
