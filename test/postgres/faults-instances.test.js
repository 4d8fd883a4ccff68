/**
 * Instances that are killed or stopped while others work.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { skipFaults, startPostgres } from "./postgres-server.js";
import { isServing, startService, timeUntil } from "./faults.js";
import { assertEachRemainingOnce, assertNothingLostOrDoubled, startLoad } from "./load.js";
import { createKey, startProgram } from "./program.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

test("an instance that is killed under load loses nothing, doubles nothing and delays nobody", { skip: skipFaults }, async (context) => {
  const url = await postgres.createDatabase();
  const store = ["--database", url];
  const key = await createKey(store);
  const instances = await Promise.all([1, 2, 3].map(() => startProgram(store)));
  context.after(() => instances.forEach((instance) => instance.kill()));
  const load = startLoad(context, instances, key);
  await setTimeout(1_000);
  await instances[0].kill();
  await setTimeout(1_000);
  const record = await load.stop();
  assert.ok(record.added.length > 50, `${record.added.length} animals`);
  [1, 2].forEach((place) => assert.ok(record.longestGapMs(place) < 500, `a gap of ${record.longestGapMs(place)} ms`));
  assertEachRemainingOnce(record);
  await assertNothingLostOrDoubled(postgres, url, record);
});

test("a stopped instance delays the others by less than 0.5 s, and goes on where it was", { skip: skipFaults }, async (context) => {
  const url = await postgres.createDatabase();
  const { instances, clients, key } = await startService(context, [url, url, url]);
  const load = startLoad(context, instances, key);
  await setTimeout(500);
  for (let round = 0; round < 3; round += 1) {
    instances[0].signal("SIGSTOP");
    await setTimeout(700);
    instances[0].signal("SIGCONT");
    const recoveryMs = await timeUntil("the instance goes on", () => isServing(clients[0]));
    assert.ok(recoveryMs < 500, `${recoveryMs} ms`);
    await setTimeout(100);
  }
  const record = await load.stop();
  assert.ok(record.longestGapMs(0) > 500, "the gap of the stopped one is seen");
  [1, 2].forEach((place) => assert.ok(record.longestGapMs(place) < 500, `a gap of ${record.longestGapMs(place)} ms`));
  assertEachRemainingOnce(record);
  await assertNothingLostOrDoubled(postgres, url, record);
});
