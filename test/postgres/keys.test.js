/**
 * The log of keys in the database, when it is not what it was.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { systemClock as clock } from "../../build/src/disk/clock.js";
import { KeyStore } from "../../build/src/keys/key-store.js";
import { Database } from "../../build/src/postgres/database.js";
import { PostgresKeyLog } from "../../build/src/postgres/postgres-key-log.js";
import { prepareSchema } from "../../build/src/postgres/schema.js";
import { skip } from "./engine.js";
import { createPlace } from "./places.js";

/** Two instances on a new database, with two keys. */
async function start(context) {
  const { pool, remove } = await createPlace();
  context.after(remove);
  const database = new Database(pool, () => undefined);
  await prepareSchema(database);
  const reports = [];
  const open = async (report) => {
    return new KeyStore(await PostgresKeyLog.open({ database, clock, report }), { clock, randomBytes });
  };
  const [one, other] = [await open((message) => reports.push(message)), await open(assert.fail)];
  const made = [await other.create(), await other.create()];
  await one.follow();
  return { one, open, made, reports, query: (text, values) => pool.query(text, values) };
}

test("key events that were taken back are reported once, and known keys go on working", { skip }, async (context) => {
  const { one, made, reports, query } = await start(context);
  await query("DELETE FROM animal_store.key_events WHERE seq = 2");
  await one.follow();
  await one.follow();
  assert.equal(reports.length, 1);
  assert.match(reports[0], /were removed or replaced; restart .*; keys known so far go on working/);
  assert.equal(one.keyring.authenticate(`Bearer ${made[1].key}`).kind, "key");
  await assert.rejects(one.revoke(made[0].id), { code: "key_file_damaged" });
});

test("an event in place of a known one is reported, and a new instance has it", { skip }, async (context) => {
  const { one, open, made, reports, query } = await start(context);
  // As after a fail-over to a replica that lacked the last event: the next change has its number.
  await query("DELETE FROM animal_store.key_events WHERE seq = 2");
  const restarted = await open(assert.fail);
  await restarted.revoke(made[0].id);
  await one.follow();
  assert.match(reports[0], /removed or replaced/);
  await restarted.create();
  await one.follow();
  assert.equal(reports.length, 1);
  assert.equal(restarted.keyring.authenticate(`Bearer ${made[0].key}`).kind, "invalid");
});
