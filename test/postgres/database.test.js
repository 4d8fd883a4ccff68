/**
 * What the answers of a database mean, without one.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as eventLoopTurn } from "node:timers/promises";
import { Database } from "../../build/src/postgres/database.js";
import { isRolledBack } from "../../build/src/postgres/database-error.js";
import { mockTimers } from "../../build/test/support/mock-timers.js";

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

test("a connection that comes too late is given back", async (context) => {
  const timers = mockTimers(context, "setTimeout");
  const released = [];
  let connect;
  const pool = { ...listening, connect: () => new Promise((resolve) => (connect = resolve)) };
  const running = new Database(pool, () => undefined).run("SELECT 1");
  await eventLoopTurn();
  timers.tick(3_500);
  await assert.rejects(running, { effect: "none" });
  connect({ ...listening, release: (isClosed) => released.push(isClosed) });
  await eventLoopTurn();
  assert.deepEqual(released, [undefined]);
});
