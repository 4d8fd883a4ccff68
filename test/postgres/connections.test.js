/**
 * Connections that are refused, ended or silent, while others work, and at every instant of their lives.
 */

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { after, test } from "node:test";
import { setImmediate as eventLoopTurn, setTimeout } from "node:timers/promises";
import { Database } from "../../build/src/postgres/database.js";
import { isRolledBack } from "../../build/src/postgres/database-error.js";
import { mockTimers } from "../../build/test/support/mock-timers.js";
import { openPool, skip, skipFaults, startPostgres } from "./postgres-server.js";
import { health, startService, timeUntil } from "./faults.js";
import { assertNothingLostOrDoubled, servedStatuses, startLoad } from "./load.js";
import { startProxy } from "./proxy.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

/** A pool as that of `pg`, whose connections fail if and when the test says. */
function newPool() {
  const pool = new EventEmitter();
  const [clients, released] = [[], []];
  const refusal = () => Object.assign(new Error("no login"), { severity: "FATAL", code: "28000" });
  const open = () => {
    const client = new EventEmitter();
    clients.push(client);
    client.query = async () => ({ rows: [{ answer: "1" }] });
    client.release = (isClosed) => released.push(isClosed);
    pool.emit("connect", client);
    return client;
  };
  return Object.assign(pool, { clients, released, open, refusal, connect: async () => open() });
}

test("a failed statement has no effect only if the database says so, and does not fail or end the connection itself", () => {
  const isWithoutEffect = (members) => isRolledBack(Object.assign(new Error("a failure"), members));
  for (const code of ["23505", "25006", "40001", "40P01", "42501", "53100", "53300", "55P03", "57014"]) {
    assert.equal(isWithoutEffect({ code, severity: "ERROR" }), true, code);
  }
  for (const code of ["08006", "25P03", "25P04", "40003", "57P01", "58030", "XX000"]) {
    assert.equal(isWithoutEffect({ code, severity: "FATAL" }), false, code);
  }
  assert.equal(isWithoutEffect({ code: "ECONNRESET" }), false);
});

test("a connection has a listener for its errors from its opening to its end, however it is taken, refused, late or given back", async (context) => {
  const timers = mockTimers(context, "setTimeout");
  const pool = newPool();
  const database = new Database(pool, () => undefined);
  const assertHeard = (when) => pool.clients.forEach((client) => {
    client.emit("error", new Error("terminating connection due to administrator command"));
    assert.equal(client.listenerCount("error"), 1, when);
  });
  const fail = (members) => (client) => (client.query = () => Promise.reject(Object.assign(new Error("it failed"), members)));
  for (const [when, spoil] of [
    ["given back", () => undefined],
    ["refused", fail({ severity: "ERROR", code: "53100" })],
    ["ended", fail({ severity: "FATAL", code: "57P01" })],
    ["on a replica", fail({ severity: "ERROR", code: "25006" })],
    ["a victim", fail({ severity: "ERROR", code: "40001" })],
    ["silent", (client) => (client.query = () => new Promise(() => undefined))],
  ]) {
    pool.connect = () => {
      const client = pool.open();
      assertHeard(`${when}, in the turn of its opening`);
      spoil(client);
      return Promise.resolve(client);
    };
    const running = database.attempt("SELECT 1").catch(() => undefined);
    await eventLoopTurn();
    assertHeard(`${when}, in use`);
    timers.tick(3_000);
    await running;
    assertHeard(`${when}, afterwards`);
    // The next one may lead to the primary.
    assert.ok(when !== "on a replica" || pool.released.at(-1) === true);
  }
  let arrive;
  pool.connect = () => new Promise((resolve) => (arrive = resolve));
  const late = assert.rejects(database.attempt("SELECT 1"), { effect: "none" });
  await eventLoopTurn();
  timers.tick(3_500);
  await late;
  database.close();
  arrive(pool.open());
  assertHeard("late, after the close");
  await eventLoopTurn();
  assertHeard("late, given back");
  assert.equal(pool.released.at(-1), undefined);
  assert.deepEqual([pool.listenerCount("error"), pool.listenerCount("connect")], [0, 0]);
});

/** Each refuses new connections, while those that an instance has go on. `few` is the instance's role. */
const refusals = [
  ["its role may not log in any more", (_proxy, role) => postgres.query(`ALTER ROLE ${role} NOLOGIN`), /is not permitted to log in/],
  ["the database takes no more", (_proxy, role) => postgres.query(`ALTER ROLE ${role} CONNECTION LIMIT 0`), /too many connections for role/],
  ["the network resets them", (proxy) => proxy.refuse("reset"), /ECONNRESET/],
  ["the network swallows them", (proxy) => proxy.refuse("silence"), /timeout|no answer/],
];

for (const [why, refuse, reason] of refusals) {
  test(`when new connections are refused (${why}), those that work serve on, and the database counts as available`, { skip: skipFaults },
    async (context) => {
      const role = `role_${refusals.findIndex(([one]) => one === why)}`;
      await postgres.query(`CREATE ROLE ${role} LOGIN`);
      const url = await postgres.createDatabase(`OWNER ${role}`);
      const proxy = await startProxy(url);
      context.after(() => proxy.stop());
      const own = Object.assign(new URL(proxy.url), { username: role }).href;
      const { instances, clients: [client], key } = await startService(context, [own]);
      await refuse(proxy, role);
      const load = startLoad(context, instances, key, { clients: 32 });
      const healths = new Set();
      await timeUntil("many are served", async () => healths.add(await health(client)) && load.record.responses.length > 300);
      const record = await load.stop();
      const refused = record.responses.filter(({ status }) => !servedStatuses.includes(status));
      assert.ok(refused.every(({ status }) => status === 503), "the others are told to come again");
      assert.ok(refused.length < record.responses.length / 2, `${refused.length} of ${record.responses.length} are not served`);
      assert.deepEqual([...healths], [200]);
      // On a slow machine a look at the keys may have had to wait for such a connection.
      const told = instances[0].reports().split("\n").filter((line) => line !== "" && !/ keys|key events/.test(line));
      assert.equal(told.length, 1, told.join("\n"));
      assert.match(told[0], /^warning: the database \S+( not answer)? a connection: /);
      assert.match(told[0], reason);
      await assertNothingLostOrDoubled(postgres, url, record);
    });
}

test("a statement that gets no answer fails alone while others get theirs", { skip }, async (context) => {
  const pool = openPool(context, await postgres.createDatabase());
  const reports = [];
  const database = new Database(pool, (message) => reports.push(message));
  const slow = assert.rejects(database.run("SELECT pg_sleep(4)"), { effect: "unknown" });
  let isOver = false;
  void slow.then(() => (isOver = true));
  for (let count = 0; !isOver; count += 1) {
    await database.run("SELECT 1");
    assert.equal(database.isAvailable, true, `after ${count} answers`);
    await setTimeout(20);
  }
  await slow;
  assert.equal(database.isAvailable, true);
  assert.match(reports.join("\n"), /^the database did not answer a statement: no answer within 3 s$/);
  database.close();
});

test("a request that finds its connections refused and then silent says for how long it has waited", async () => {
  const pool = newPool();
  const database = new Database(pool, () => undefined);
  await database.run("SELECT 1");
  const silentMs = performance.now() + 1_000;
  pool.connect = async () => {
    if (performance.now() > silentMs) {
      await new Promise(() => undefined);
    }
    throw new Error("connection refused");
  };
  await assert.rejects(database.run("SELECT 1"), /^DatabaseError: no answer within 3.3 s$/);
  database.close();
});

test("a statement that is rolled back twice for others is told, as with another isolation level", async () => {
  const pool = newPool();
  const reports = [];
  const database = new Database(pool, (message) => reports.push(message));
  let tries = 0;
  const conflict = Object.assign(new Error("could not serialize access"), { severity: "ERROR", code: "40001" });
  pool.connect = async () => Object.assign(pool.open(), { query: () => Promise.reject((tries += 1) && conflict) });
  await assert.rejects(database.run("SELECT 1"), { effect: "none" });
  assert.deepEqual([tries, reports], [2, ["the database refused a statement: could not serialize access"]]);
  assert.equal(database.isAvailable, true);
  database.close();
});
