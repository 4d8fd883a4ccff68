/**
 * Machines of the database are lost under load: the manual's recipe `ha` of Patroni, etcd and HAProxy, and two
 * instances that use it. The times of each fault are printed.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { skipFailover, startCluster } from "./failover-cluster.js";
import { newClient } from "../../build/test/support/client.js";
import { until } from "../../build/test/support/until.js";
import { assertNothingLostOrDoubled, startLoad } from "./load.js";
import { createKey, runCommand, startProgram } from "./program.js";

/** From HAProxy's switch to the next read, and from the naming of a synchronous standby to the next create. */
const recoveryMsMax = 2_000;
/** A failover may forget the tokens of so long, as a crash of PostgreSQL may. */
const lostLimitsMs = 1_000;
const quota = 200;

let cluster;
let url;
let store;
let key;
let instances;
before(async () => {
  if (!skipFailover) {
    cluster = await startCluster();
    url = await cluster.server.createDatabase();
    store = ["--database", url];
    key = await createKey(store);
    instances = await Promise.all([1, 2].map(() => startProgram(store)));
  }
});
after(() => Promise.all([cluster?.stop(), ...(instances ?? []).map((instance) => instance.kill())]));

const nothing = () => undefined;
for (const [title, strike, mend] of [
  ...[1, 2, 3, 4, 5].map((round) => [
    `the machine of the primary is killed (${round} of 5)`,
    (primary) => primary.kill(),
    (primary) => primary.start(),
  ]),
  ["the primary is switched by command", (primary) => primary.switchOver(), nothing],
  ["a primary that was cut off until it was replaced comes back", (primary) => primary.pause(), (primary) => primary.resume()],
]) {
  const promise = "nothing is lost, doubled or served beyond a quota, and all goes on without a restart";
  test(`${title}: ${promise}`, { skip: skipFailover, timeout: 120_000 }, async (context) => {
    const primary = await cluster.settled();
    const keys = await changeKeys();
    const load = startLoad(context, instances, key, { clients: 4, name: title.replaceAll(/\W+/g, "-") });
    const { record } = load;
    const taker = startTaker(context, keys.limited);
    await until("half of the quota is used", () => taker.servedAt.length > quota / 2);

    const struckAt = performance.now();
    const striking = strike(primary);
    const goneAt = await timeOf(async () => (await cluster.leader()) !== primary);
    const ledAt = await timeOf(async () => ![undefined, primary].includes(await cluster.leader()));
    const namedAt = await timeOf(() => cluster.hasNamed());
    const firsts = () => [200, 201].map((status) => Math.max(...record.places.map((place) => firstAfter(goneAt, record, place, status))));
    await until("both instances read and create", () => firsts().every(Number.isFinite));
    await striking;
    mend(primary);
    await cluster.settled();
    const servedAt = await taker.end();
    await load.stop();

    const [readAt, createdAt] = firsts();
    const unknown = record.responses.filter(({ code }) => code === "outcome_unknown").length;
    const [led, read, named, created] = [ledAt, readAt, namedAt, createdAt].map((at) => seconds(at - struckAt));
    context.diagnostic(`HAProxy leads on after ${led}, reads after ${read} (+ ${seconds(readAt - ledAt)}); a standby is named after ` +
      `${named}, creates after ${created} (+ ${seconds(createdAt - namedAt)}); ${record.added.length} creates, ` +
      `${record.reserved.length} reservations, ${unknown} outcome_unknown`);
    await assertNothingLostOrDoubled(cluster.server, url, record);
    const lately = servedAt.filter((at) => at < struckAt && at > struckAt - lostLimitsMs).length;
    assert.ok(servedAt.length <= quota + lately, `${servedAt.length} of ${quota} were served, ${lately} in the last moment`);
    for (const client of clientsOf(context, keys.revoked)) {
      assert.equal((await client.get("/v1/limits")).status, 401);
    }
    assert.ok(readAt - ledAt < recoveryMsMax, `reads work ${readAt - ledAt} ms after the switch`);
    assert.ok(createdAt - namedAt < recoveryMsMax, `creates work ${createdAt - namedAt} ms after a standby is named`);
  });
}

const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`;

/** When the instance at that place answered a request with the status that was sent after an instant, or NaN. */
function firstAfter(fromMs, { responses }, place, status) {
  return responses.find((one) => one.place === place && one.status === status && one.sentAt > fromMs)?.at ?? NaN;
}

async function timeOf(check) {
  await until("the failover goes on", check, { timeoutMs: 60_000 });
  return performance.now();
}

/** Makes a key with a quota, and another one that is revoked at once. */
async function changeKeys() {
  const create = ["keys", "create", ...store, "--plan", "enterprise", "--per-minute", "100000", "--per-day", `${quota}`];
  const [limited, revoked] = [await runCommand(create), await runCommand([...create, "--label", "revoked"])];
  const { stdout } = await runCommand(["keys", "list", "--json", ...store]);
  const keys = stdout.trim().split("\n").map((line) => JSON.parse(line));
  await runCommand(["keys", "revoke", keys.findLast(({ label }) => label === "revoked").id, ...store]);
  return { limited: limited.stdout.trim(), revoked: revoked.stdout.trim() };
}

function clientsOf(context, used) {
  const clients = instances.map((instance) => newClient(instance, used));
  context.after(() => clients.forEach((client) => client.close()));
  return clients;
}

/** Uses a key's quota up, at both instances in turn, and goes on until `end()`, which resolves with when it was served. */
function startTaker(context, limited) {
  const clients = clientsOf(context, limited);
  const servedAt = [];
  let isEnding = false;
  let isAbandoned = false;
  context.after(() => (isAbandoned = true));
  const running = (async () => {
    for (let round = 0, status = 0; !isAbandoned && !(isEnding && status === 429); round += 1) {
      ({ status } = await clients[round % clients.length].get("/v1/pets?limit=1").catch(() => ({ status: 0 })));
      if (status === 200) {
        servedAt.push(performance.now());
      }
      await setTimeout(status === 429 ? 500 : 10);
    }
  })();
  return {
    servedAt,
    async end() {
      isEnding = true;
      await running;
      return servedAt;
    },
  };
}
