/**
 * Three instances under load, while all that can happen to single connections happens to theirs, at random: they are
 * ended, also as they open, refused, reset, silent, and forgotten. CHAOS_SECONDS sets for how long, SEED which faults.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { newClient } from "../../build/test/support/client.js";
import { seeded } from "../../build/test/support/seeded-random.js";
import { skipFaults, startPostgres } from "./postgres-server.js";
import { health, isServing, timeUntil } from "./faults.js";
import { assertNothingLostOrDoubled, startLoad } from "./load.js";
import { createKey, runCommand, startProgram } from "./program.js";
import { startProxy } from "./proxy.js";

const seconds = Number(process.env.CHAOS_SECONDS ?? 20);
/** For so long after a fault, requests may still get 503. */
const recoveryMs = 2_000;
/** Connections that stay silent are given up 3 s after the cut began: by 4 s all is well, so it counts as long as this. */
const silenceMs = 4_000 - recoveryMs;
const role = "chaos";
const quota = 10 * seconds;

const postgres = await startPostgres();
after(() => postgres?.stop());

const promise = "no process ends, nothing is lost, doubled or served beyond a quota, and 503 comes only around a fault";
test(`three instances in ${seconds} s of chaos: ${promise}`, { skip: skipFaults }, seeded(async (random, context) => {
  await postgres.query(`CREATE ROLE ${role} LOGIN`);
  const url = await postgres.createDatabase(`OWNER ${role}`);
  const addressOf = (address) => Object.assign(new URL(address), { username: role }).href;
  const store = ["--database", addressOf(url)];
  const key = await createKey(store);
  const limited = await runCommand(["keys", "create", ...store, "--plan", "enterprise", "--per-minute", "100000", "--per-day", `${quota}`]);
  const proxies = await Promise.all([1, 2, 3].map(() => startProxy(addressOf(url))));
  context.after(() => Promise.all(proxies.map((proxy) => proxy.stop())));
  const instances = await Promise.all(proxies.map((proxy) => startProgram(["--database", proxy.url])));
  context.after(() => Promise.all(instances.map((instance) => instance.kill())));
  const clients = instances.map((instance) => newClient(instance, key));
  context.after(() => clients.forEach((client) => client.close()));

  const load = startLoad(context, instances, key, { clients: 4, timeoutMs: 30_000, restMs: 10 });
  const taker = startTaker(context, instances, limited.stdout.trim());
  const endMs = performance.now() + 1_000 * seconds;
  const [faults] = await Promise.all([strike(random, { url, proxies, endMs }), holdSnapshots(url, endMs)]);
  const areServing = async () => (await Promise.all(clients.map(isServing))).every(Boolean);
  const recoveredMs = await timeUntil("all serve again", areServing);
  assert.ok(recoveredMs < 10_000, `recovered after ${recoveredMs} ms`);
  await setTimeout(2 * recoveryMs);
  const record = await load.stop();
  const taken = await taker.stop();

  const { responses } = record;
  const refused = responses.filter(({ status }) => status === 503);
  const unknown = refused.filter(({ code }) => code === "outcome_unknown");
  context.diagnostic(`${faults.length} faults; ${responses.length} responses, ${refused.length} of them 503, ${unknown.length} outcome_unknown; ` +
    `${record.added.length} creates, ${record.reserved.length} reservations; all serve ${Math.round(recoveredMs)} ms after the last fault`);
  instances.forEach(({ process: { exitCode, signalCode }, stderr }) => assert.deepEqual([exitCode, signalCode], [null, null], stderr()));
  assert.ok(responses.every(({ status }) => status !== 0), "every request has a response");
  await assertNothingLostOrDoubled(postgres, url, record);
  const astray = refused.filter((response) => !faults.some((fault) => isOf(fault, response)));
  assert.deepEqual(astray.map(({ sentAt, at, place }) => ({ sentAt, at, place, last: faults.findLast(({ fromMs }) => fromMs < at) })), []);
  assert.ok(unknown.every(({ sentAt, at }) => at - sentAt > 10_000), "an outcome is unknown only after 10 s");
  assert.ok(taken.served <= quota, `${taken.served} of ${quota} were served`);
  assert.ok(!taken.isUsedUp || taken.served + taken.doubtful >= quota, `${taken.served} of ${quota} were served, ${taken.doubtful} are in doubt`);
  assert.deepEqual(await Promise.all(clients.map(health)), [200, 200, 200]);
  await Promise.all(instances.map((instance) => instance.stop()));
}));

/** Whether the fault explains the refusal. */
function isOf({ fromMs, toMs, places }, { place, sentAt, at }) {
  return places.includes(place) && at > fromMs && sentAt < toMs + recoveryMs;
}

/** One fault after another, until the end. @returns when and where each was */
async function strike(random, { url, proxies, endMs }) {
  const operator = new pg.Client({ connectionString: url });
  await operator.connect();
  const everywhere = proxies.map((_proxy, place) => place);
  const aWhile = () => setTimeout(random.integer(1_000, 5_000));
  const terminate = (count) => {
    const text = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1 ORDER BY random() LIMIT $2";
    return operator.query(text, [role, count]);
  };
  const alter = async (how, undo) => {
    await operator.query(`ALTER ROLE ${role} ${how}`);
    await (random.oneIn(2) && terminate(null));
    await aWhile();
    await operator.query(`ALTER ROLE ${role} ${undo}`);
  };
  /** At some of the instances. @param leastMs for how long it acts at least, also if it ends earlier */
  const between = (begin, end, leastMs = 0) => async () => {
    const places = random.pick([[0], [1], [2], [0, 1], [1, 2], everywhere]);
    const least = setTimeout(leastMs);
    const struck = places.map((place) => proxies[place]);
    struck.forEach(begin);
    await aWhile();
    struck.forEach(end);
    await least;
    return places;
  };
  const kinds = [
    () => terminate(1),
    () => terminate(null),
    async () => {
      for (const untilMs = performance.now() + random.integer(500, 2_000); performance.now() < untilMs; ) {
        await terminate(null); // Also those that open meanwhile.
      }
    },
    () => alter("NOLOGIN", "LOGIN"),
    () => alter(`CONNECTION LIMIT ${random.integer(0, 6)}`, "CONNECTION LIMIT -1"),
    between((proxy) => proxy.reset(), () => undefined),
    between((proxy) => proxy.refuse("reset"), (proxy) => proxy.refuse(undefined)),
    between((proxy) => proxy.refuse("silence"), (proxy) => proxy.refuse(undefined)),
    between((proxy) => proxy.cut(), (proxy) => proxy.heal()),
    between((proxy) => proxy.cut(), (proxy) => proxy.heal({ forget: true }), silenceMs),
    between((proxy) => proxy.holdResponses(), (proxy) => proxy.heal()),
    between((proxy) => proxy.holdResponses(), (proxy) => {
      proxy.reset();
      proxy.heal();
    }),
  ];
  const faults = [];
  while (performance.now() < endMs) {
    const deck = kinds.map((strikeOnce) => ({ strikeOnce, order: random.uint32() })).sort((one, other) => one.order - other.order);
    for (const { strikeOnce } of deck) {
      await setTimeout(random.integer(0, 3_000));
      if (performance.now() < endMs) {
        const fault = { kind: kinds.indexOf(strikeOnce), fromMs: performance.now() };
        const places = await strikeOnce();
        faults.push({ ...fault, toMs: performance.now(), places: Array.isArray(places) ? places : everywhere });
      }
    }
  }
  await operator.end();
  return faults;
}

/** As `pg_dump` does, again and again. That makes no request fail. */
async function holdSnapshots(url, endMs) {
  const reader = new pg.Client({ connectionString: url });
  await reader.connect();
  while (performance.now() < endMs) {
    await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await reader.query("SELECT count(*) FROM animal_store.pets");
    await setTimeout(Math.min(30_000, endMs - performance.now()));
    await reader.query("COMMIT");
  }
  await reader.end();
}

/** Uses a key's quota up, at all instances in turn. */
function startTaker(context, instances, limited) {
  const clients = instances.map((instance) => newClient(instance, limited));
  const taken = { served: 0, doubtful: 0, isUsedUp: false };
  let isStopping = false;
  const running = (async () => {
    for (let round = 0; !isStopping; round += 1) {
      const { status, text } = await clients[round % clients.length].get("/v1/pets?limit=1");
      assert.ok([200, 429, 503].includes(status), text);
      taken.served += status === 200 ? 1 : 0;
      taken.doubtful += status === 503 ? 1 : 0;
      taken.isUsedUp ||= status === 429;
      await setTimeout(status === 429 ? 1_000 : 40);
    }
  })();
  const stop = async () => {
    isStopping = true;
    await running;
    clients.forEach((client) => client.close());
    return taken;
  };
  context.after(stop);
  return { stop };
}
