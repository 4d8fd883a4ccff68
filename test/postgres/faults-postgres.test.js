/**
 * PostgreSQL that is killed, shut down, or ends connections.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { until } from "../../build/test/support/until.js";
import { skipFaults, startPostgres } from "./postgres-server.js";
import { health, isServing, startService, timeUntil } from "./faults.js";
import { guardedFolder } from "./guarded-folder.js";
import { startInstance } from "./instance.js";
import { runCommand } from "./program.js";
import { assertEachRemainingOnce, assertNothingLostOrDoubled, startLoad } from "./load.js";

/** An asynchronous commit is on disk after three times wal_writer_delay. */
const lostLimitsMs = 600;
const postgres = await startPostgres();
after(() => postgres?.stop());

/** Resolves when all serve again. */
async function assertRecovery(clients, maxMs) {
  const recoveryMs = await timeUntil("all serve again", async () => (await Promise.all(clients.map(isServing))).every(Boolean));
  assert.ok(recoveryMs < maxMs, `recovered after ${recoveryMs} ms`);
}

async function doNotWaitForTheDisk(url) {
  await postgres.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`);
}

for (const [fault, end, setUp] of [
  ["killed", () => postgres.kill(), () => undefined],
  ["killed, which by default does not wait for the disk", () => postgres.kill(), doNotWaitForTheDisk],
  ["shut down", () => postgres.shutDown(), () => undefined],
]) {
  test(`while PostgreSQL is ${fault}, requests get 503; then nothing is lost or doubled`, { skip: skipFaults }, async (context) => {
    const url = await postgres.createDatabase();
    await setUp(url);
    const { instances, clients, key } = await startService(context, [url, url]);
    const load = startLoad(context, instances, key);
    await setTimeout(1_000);
    await end();
    const downAt = performance.now();
    await until("both are unhealthy", async () => (await Promise.all(clients.map(health))).every((status) => status === 503));
    await setTimeout(500);
    const upAt = performance.now();
    await postgres.start();
    await assertRecovery(clients, 2_000);
    assert.deepEqual(await Promise.all(clients.map(health)), [200, 200]);
    await setTimeout(300);
    const record = await load.stop();

    const refused = record.responses.filter(({ sentAt, at }) => sentAt > downAt && at < upAt);
    assert.ok(refused.length > 0);
    for (const { code, remaining, sentAt, at } of refused) {
      assert.equal(code, "storage_unavailable");
      assert.ok(remaining > 900_000 && at - sentAt < 3_000, `${remaining} left, ${at - sentAt} ms`);
    }
    assert.ok(!record.responses.some(({ code }) => code === "outcome_unknown"), "every fate is learnt");
    await assertNothingLostOrDoubled(postgres, url, record);
    instances.forEach(({ reports }) => assert.match(reports(), /^(warning: the database [^\n]*a connection[^\n]*\n)?warning: the database cannot be used.*\n(info: the database can be used again\n)?$/));
  });
}

test("an import and a change of a key are kept if PostgreSQL is killed at once, although it does not wait for the disk by default", { skip: skipFaults },
  async (context) => {
    const url = await postgres.createDatabase();
    await doNotWaitForTheDisk(url);
    const folder = guardedFolder("moved");
    await runCommand(["keys", "create", "--data", folder]);
    assert.equal((await runCommand(["import", folder, "--database", url])).code, 0);
    await postgres.kill();
    await postgres.start();
    const { keys } = await startInstance(url, { context });
    const [{ id }] = await keys.list();
    await keys.revoke(id);
    await postgres.kill();
    await postgres.start();
    const { stdout } = await runCommand(["keys", "list", "--json", "--database", url]);
    assert.equal(JSON.parse(stdout).state, "revoked");
  },
);

test("a PostgreSQL that is killed forgets a moment of the limits at most", { skip: skipFaults }, async (context) => {
  const url = await postgres.createDatabase();
  const { instances, clients, key } = await startService(context, [url, url]);
  const load = startLoad(context, instances, key, { isReadOnly: true });
  await setTimeout(1_500);
  const killedAt = performance.now();
  await postgres.kill();
  await postgres.start();
  await assertRecovery(clients, 2_000);
  const { responses } = await load.stop();
  const served = responses.filter(({ status }) => status === 200);
  const before = served.filter(({ sentAt }) => sentAt < killedAt).map(({ remaining }) => remaining);
  const after = served.filter(({ sentAt }) => sentAt > killedAt).map(({ remaining }) => remaining);
  const lost = Math.max(...after) + 1 - Math.min(...before);
  const lately = served.filter(({ sentAt, at }) => sentAt < killedAt && at > killedAt - lostLimitsMs).length;
  assert.ok(lost <= lately, `${lost} tokens were lost, ${lately} were taken in the last ${lostLimitsMs} ms`);
});

for (const [title, terminate] of [
  ["one connection is", async (url) => postgres.query("SELECT pg_terminate_backend($1)", [(await postgres.backends(url))[0].pid])],
  ["all connections are", (url) => postgres.terminateBackends(url)],
]) {
  test(`when ${title} ended, the service goes on at once`, { skip: skipFaults }, async (context) => {
    const url = await postgres.createDatabase();
    const { instances, key } = await startService(context, [url, url]);
    const load = startLoad(context, instances, key);
    let slowestMs = 0; // On a busy machine a new connection takes long, also one of this test.
    for (let round = 0; round < 5; round += 1) {
      await setTimeout(300);
      const startMs = performance.now();
      await terminate(url);
      slowestMs = Math.max(slowestMs, performance.now() - startMs);
    }
    await setTimeout(300);
    const record = await load.stop();
    record.places.forEach((place) => {
      const gapMs = record.longestGapMs(place);
      assert.ok(gapMs < 500 + slowestMs, `a gap of ${gapMs} ms, while two connections took ${slowestMs} ms`);
    });
    assert.ok(!record.responses.some(({ code }) => code === "outcome_unknown"), "every fate is learnt");
    assertEachRemainingOnce(record);
    await assertNothingLostOrDoubled(postgres, url, record);
  });
}
