/**
 * What the answers of a database mean, without one.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import { Database } from "../../build/src/postgres/database.js";
import { isRolledBack } from "../../build/src/postgres/database-error.js";
import { ConnectionLimit } from "../../build/src/postgres/connection-limit.js";

const listening = { on() {}, off() {} };

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

test("a connection that leads to a replica is closed, since the next one may lead to the primary", async () => {
  const failure = Object.assign(new Error("cannot execute INSERT in a read-only transaction"), { code: "25006", severity: "ERROR" });
  const released = [];
  const client = { ...listening, query: () => Promise.reject(failure), release: (isClosed) => released.push(isClosed) };
  const database = new Database({ ...listening, connect: async () => client }, () => undefined);
  await assert.rejects(database.run("INSERT"), { effect: "none" });
  assert.deepEqual(released, [true]);
});

test("a database that has lost the schema cannot be used, and can again once the schema is back", async () => {
  const reports = [];
  let failure = Object.assign(new Error('schema "animal_store" does not exist'), { code: "3F000", severity: "ERROR" });
  const query = async () => {
    if (failure !== undefined) throw failure;
    return { rows: [] };
  };
  const client = { ...listening, query, release() {} };
  const database = new Database({ ...listening, connect: async () => client }, (line) => reports.push(line));
  await assert.rejects(database.run("SELECT animal_store.add()"), { effect: "none" });
  assert.equal(database.isAvailable, false);
  failure = undefined;
  await database.probe("SELECT animal_store.key_events_after()");
  assert.equal(database.isAvailable, true);
  assert.match(reports[0], /^warning: the database cannot be used, .*: schema "animal_store" does not exist$/);
  assert.deepEqual(reports.slice(1), ["the database can be used again"]);
});

test("a connection that comes too late is given back", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const released = [];
  let connect;
  const pool = { ...listening, connect: () => new Promise((resolve) => (connect = resolve)) };
  const running = new Database(pool, () => undefined).run("SELECT 1");
  await eventLoopTurn();
  context.mock.timers.tick(1_500);
  await assert.rejects(running, { effect: "none" });
  connect({ ...listening, release: (isClosed) => released.push(isClosed) });
  await eventLoopTurn();
  assert.deepEqual(released, [undefined]);
});

test("while the database takes no more connections, a statement waits for one in use instead of asking again", async () => {
  const tooMany = Object.assign(new Error("sorry, too many clients already"), { code: "53300", severity: "FATAL" });
  const answers = [];
  let connectCount = 0;
  let usedCount = 0;
  const client = {
    ...listening,
    query: () => new Promise((resolve) => answers.push(() => resolve({ rows: [] }))),
    release: () => (usedCount -= 1),
  };
  const connect = async () => {
    connectCount += 1;
    await eventLoopTurn();
    if (usedCount > 0) throw tooMany;
    usedCount += 1;
    return client;
  };
  const database = new Database({ ...listening, connect }, () => undefined);
  const first = database.run("SELECT 1");
  const turns = async () => {
    for (let count = 0; count < 20; count += 1) await eventLoopTurn();
  };
  await turns();
  const second = database.run("SELECT 2");
  await turns();
  assert.equal(connectCount, 2);
  answers.shift()();
  await first;
  await turns();
  answers.shift()();
  await second;
  assert.equal(connectCount, 3);
});

test("a statement that is rolled back so that others can go on is sent once more, and nothing is reported", async () => {
  for (const code of ["40001", "40P01"]) {
    const failures = [Object.assign(new Error("deadlock detected"), { code, severity: "ERROR" })];
    const query = async () => {
      if (failures.length > 0) throw failures.pop();
      return { rows: [{ answer: "1" }] };
    };
    const pool = { ...listening, connect: async () => ({ ...listening, query, release() {} }) };
    assert.deepEqual(await new Database(pool, assert.fail).run("SELECT 1"), [{ answer: "1" }]);
  }
});

test("who has waited for a connection in vain gets none later", async () => {
  const limit = new ConnectionLimit();
  await limit.take(Infinity);
  limit.setFull();
  await assert.rejects(limit.take(performance.now()), { message: "no connection became free" });
  limit.giveBack();
  assert.equal(limit.usedCount, 0);
});

test("more connections than a full database had are used again after a second", async (context) => {
  const now = context.mock.method(performance, "now", () => 0);
  const limit = new ConnectionLimit();
  await limit.take(Infinity);
  limit.setFull();
  now.mock.mockImplementation(() => 1_000);
  await assert.rejects(limit.take(1_000), { message: "no connection became free" });
  now.mock.mockImplementation(() => 1_001);
  await limit.take(1_001);
  assert.equal(limit.usedCount, 2);
});
