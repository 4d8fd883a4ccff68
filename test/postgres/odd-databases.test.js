/**
 * Databases, and clients of them, that are set up in other ways than usual.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import pg from "pg";
import { systemClock as clock } from "../../build/src/base/clock.js";
import { Keys } from "../../build/src/keys/keys.js";
import { Database } from "../../build/src/postgres/database.js";
import { petToJson } from "../../build/src/pets/pet.js";
import { openPostgres, purge } from "../../build/src/postgres/postgres-engine.js";
import { prepareSchema } from "../../build/src/postgres/schema.js";
import { openPool, skip, startPostgres } from "./postgres-server.js";
import { lockWaits } from "./faults.js";
import { makeSchema } from "./make-schema.js";
import { withQuery } from "./places.js";
import { runCommand } from "./program.js";
import { createOld } from "./release-3.0.js";

const running = await startPostgres();
after(() => running?.stop());

const report = (message) => assert.equal(message, "made the schema animal_store");
const open = async (pool) => {
  const database = new Database(pool, assert.fail);
  await prepareSchema(database, report, "make").finally(() => database.close());
  const engine = await openPostgres({ pool, clock, report });
  return { ...engine, keys: new Keys(engine.keys, { clock, randomBytes }) };
};
const plan = { name: "free", perMinute: 60, perDay: 1_000 };
const pet = { name: `日本 \\'"{NULL}`, categoryId: -(2n ** 63n), status: "available" };

for (const encoding of ["LATIN1", "SQL_ASCII"]) {
  test(`a database in ${encoding} is refused, as only UTF8 holds every name`, { skip }, async (context) => {
    const url = await running.createDatabase(`ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`);
    const pool = openPool(context, url);
    const fault = `the encoding of the database is ${encoding}: it must be UTF8`;
    await assert.rejects(open(pool), { message: fault });
    const { code, stdout, stderr } = await runCommand(["check", "--database", url]);
    assert.equal(code, 1);
    assert.ok((stdout + stderr).includes(fault), stdout + stderr);
  });
}

for (const [version, product] of [
  ["CockroachDB CCL v24.3.1 (x86_64-pc-linux-gnu, built 2024/12/10 00:00:00, go1.22.8)", "CockroachDB CCL v24.3.1"],
  ["PostgreSQL 15.2-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6, 64-bit", "PostgreSQL 15.2-YB-2025.1.0.0-b0"],
  ["PostgreSQL 16.4 on aarch64-unknown-linux-gnu, compiled by gcc (GCC) 9.5.0, 64-bit", undefined], // Aurora.
]) {
  test(`a server that says it is ${version} is ${product === undefined ? "used" : "refused"}`, { skip }, async (context) => {
    const pool = openPool(context, await running.createDatabase());
    const other = withQuery(pool, (client, statement) => {
      return statement.text.includes("version()") ? Promise.resolve({ rows: [{ version }] }) : client.query(statement);
    });
    if (product === undefined) {
      await (await open(other)).close();
    } else {
      await assert.rejects(open(other), { message: `the database is ${product}: it must be PostgreSQL itself` });
    }
    const { rows } = await pool.query("SELECT to_regnamespace('animal_store') IS NOT NULL AS is_made");
    assert.equal(rows[0].is_made, product === undefined);
  });
}

for (const binary of [false, true]) {
  const title = `settings of the database and of an embedder's client change nothing (${binary ? "binary" : "text"})`;
  test(title, { skip }, (context) => useOdd(context, binary));
}

async function useOdd(context, binary) {
  const url = await running.createDatabase();
  const settings = {
    ...{ client_encoding: "LATIN1", DateStyle: "German", TimeZone: "America/New_York", extra_float_digits: -15 },
    ...{ "plpgsql.variable_conflict": "use_variable", "plpgsql.extra_errors": "all", standard_conforming_strings: "off" },
    ...{ transform_null_equals: "on", row_security: "off", jit_above_cost: 0, quote_all_identifiers: "on" },
    ...{ array_nulls: "off", IntervalStyle: "sql_standard", bytea_output: "escape", backslash_quote: "on", synchronous_commit: "off" },
  };
  const alter = (name, value) => running.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${name} = ${value}`);
  for (const [name, value] of Object.entries(settings)) {
    await alter(name, `'${value}'`);
  }
  await alter("search_path", binary ? "animal_store, public" : "nowhere");
  await running.query("CREATE PUBLICATION everything FOR ALL TABLES", [], url);
  const [bool, int8, int4, float8] = [16, 20, 23, 701];
  for (const type of [bool, int8, int4, float8]) {
    const earlier = pg.types.getTypeParser(type);
    context.after(() => pg.types.setTypeParser(type, earlier));
    pg.types.setTypeParser(type, (text) => ({ toString: () => text }));
  }
  const pool = openPool(context, url, { max: 1, idleTimeoutMillis: 1, allowExitOnIdle: true, binary });
  for (const start of [0, 1]) {
    const { keys, limiter, store, close } = await open(pool);
    await alter("default_transaction_isolation", start === 1 ? "serializable" : "'read committed'"); // A start refuses it.
    for (const label of ["日本", ..."abcdefghijk"]) {
      await keys.create({ label });
    }
    assert.equal((await keys.list()).length, 12 * (start + 1));
    const taken = await limiter.take("a", plan);
    assert.deepEqual([taken.kind, taken.remaining, taken.quotas().day.remaining], ["allowed", 59 - start, 999 - start]);
    const hash = String(start).repeat(22);
    const [first, second] = await Promise.all([store.add(pet, hash), store.add(pet)]);
    assert.equal((await store.add(pet, hash)).isReplay, true);
    assert.deepEqual([first.id, second.id, await store.get(first.id)], [2 * start + 1, 2 * start + 2, { json: first.json, version: 1 }]);
    const filters = [{ status: "available" }, {}, { categoryId: pet.categoryId }, { categoryId: pet.categoryId, status: "available" }];
    const pages = await Promise.all(filters.map((filter) => store.list({ after: 2 * start, limit: 2, ...filter })));
    assert.deepEqual(pages, Array(4).fill({ json: `[${first.json},${second.json}]`, nextAfter: undefined }));
    const corrected = { ...pet, name: '"' };
    const outcome = await store.change(first.id, { name: '"' }, { match: ["available-1"], noneMatch: [] });
    assert.deepEqual(outcome, { kind: "changed", json: petToJson({ id: first.id, ...corrected }), version: 2, isReplay: false });
    assert.equal((await store.remove(second.id, { match: ["available"], noneMatch: ["available-2"] })).kind, "removed");
    await purge(new Database(pool, assert.fail), new AbortController().signal);
    await close();
  }
}

test("a start that waits for another one can be stopped", { skip, timeout: 10_000 }, async (context) => {
  const url = await createOld(running);
  const pool = new pg.Pool({ connectionString: url });
  const stalled = new pg.Client({ connectionString: url });
  await stalled.connect();
  context.after(() => stalled.end().then(() => pool.end()));
  await stalled.query("SELECT pg_advisory_lock(4207849471)"); // That of `prepareSchema`.
  const stopping = new AbortController();
  const opening = openPostgres({ pool, clock, report: assert.fail, signal: stopping.signal });
  await lockWaits(running, url);
  stopping.abort();
  await assert.rejects(opening, { name: "AbortError" });
});

test("a start that is stopped while it reads the keys fails", { skip }, async (context) => {
  const pool = openPool(context, await makeSchema(await running.createDatabase()));
  const stopping = new AbortController();
  const watched = withQuery(pool, (client, statement) => {
    if (statement.text.includes("animal_store.key_events_after(")) {
      stopping.abort();
    }
    return client.query(statement);
  });
  const opening = openPostgres({ pool: watched, clock, report, signal: stopping.signal });
  await assert.rejects(opening, { name: "AbortError" });
});

test("close() ends creates and changes of keys, and leaves an embedder's pool as it was", { skip }, async (context) => {
  const pool = openPool(context, await running.createDatabase());
  const { keys, store, close } = await open(pool);
  await close();
  await assert.rejects(store.add(pet), { name: "StorageUnavailableError" });
  await assert.rejects(keys.create(), { message: "Cannot change keys: the service is closed" });
  assert.equal(pool.listenerCount("error"), 0);
});

test("a transaction of a process that is stopped ends after 30 s", { skip }, async (context) => {
  const pool = openPool(context, await running.createDatabase(), { max: 1 });
  const database = new Database(pool, assert.fail);
  const text = "SELECT current_setting('idle_in_transaction_session_timeout') AS is";
  const [row] = await database.transaction((query) => query(text));
  const [later] = await database.run(text);
  assert.deepEqual([row.is, later.is], ["30s", "0"]);
});
