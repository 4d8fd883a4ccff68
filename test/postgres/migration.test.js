/**
 * A database that release 3.0 left: what commands do with it, what a start makes of it, and instances of that release
 * that go on meanwhile. The statements are those that they send, to the functions that they made.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import pg from "pg";
import { systemClock } from "../../build/src/base/clock.js";
import { IdempotencyConflictError } from "../../build/src/pets/pet-store.js";
import { Database } from "../../build/src/postgres/database.js";
import { PostgresPetStore } from "../../build/src/postgres/postgres-pet-store.js";
import { prepareSchema } from "../../build/src/postgres/schema.js";
import { newClient } from "../../build/test/support/client.js";
import { always, changeStatus, ifMatch } from "../../build/test/support/store-suites/suite-steps.js";
import { until } from "../../build/test/support/until.js";
import { lock } from "./faults.js";
import { guardedFolder } from "./guarded-folder.js";
import { openPool, skip, skipFaults, startPostgres } from "./postgres-server.js";
import { withQuery } from "./places.js";
import { runCommand, startProgram } from "./program.js";
import { bannedKey, changeHash, createOld, hash, key, keyId, mimi } from "./release-3.0.js";

const postgres = await startPostgres({ settings: { max_prepared_transactions: 2 } });
after(() => postgres?.stop());

/** The names that the column of a change's status has: in a database that began with release 2.0, and in others. */
const names = ["status", "changed_to"];

/** All that a migration changes. */
async function schemaOf(url) {
  const rows = await postgres.query(
    `SELECT attrelid::regclass::text AS of, string_agg(attname, ' ' ORDER BY attnum) AS what FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
       WHERE relnamespace = to_regnamespace('animal_store') AND relkind = 'r' AND attnum > 0 GROUP BY 1
     UNION ALL SELECT oid::regprocedure::text, md5(prosrc) FROM pg_proc WHERE pronamespace = to_regnamespace('animal_store') ORDER BY 1`,
    [], url);
  return Object.fromEntries(rows.map(({ of, what }) => [of, what]));
}

test("import and keys create make the schema in a database without tables, and say so; a start and other commands refuse it", { skip }, async () => {
  const url = await postgres.createDatabase();
  const store = ["--database", url];
  const folder = guardedFolder("animals");
  const file = join(folder, "animals.jsonl");
  writeFileSync(file, '{"name":"Rex"}\n');
  for (const [name, reason] of [[file, /line 1: .*; nothing was imported\n$/s], [join(folder, "none"), /there is no such file\n$/]]) {
    const { code, stderr } = await runCommand(["import", name, ...store]);
    assert.deepEqual([code, reason.test(stderr), await schemaOf(url)], [1, true, {}], stderr);
  }
  writeFileSync(file, '{"name":"Rex","categoryId":1}\n');
  for (const [command, reason] of [
    [["keys", "list"], /the database has no tables of the animal store; keys create and import make them\n$/],
    [["keys", "show", "key_000000000000000"], /the database has no tables/],
    [["keys", "revoke", "key_000000000000000"], /the database has no tables/],
    [["--port", "0"], /the database has no tables of the animal store; keys create and import make them\n$/],
    [["keys", "create", "--plan", "nonsense"], /nonsense/],
    [["keys", "create", "--label", "x".repeat(65)], /label/],
    [["keys", "create", "--expires", "yesterday"], /expiry/],
    [["import", file, file], /name one JSON-lines file/],
  ]) {
    const { code, stdout, stderr } = await runCommand([...command, ...store]);
    assert.deepEqual([code, stdout], [2, ""], stderr);
    assert.match(stderr, reason);
    assert.deepEqual(await schemaOf(url), {});
  }
  for (const command of [["keys", "create"], ["import", file]]) {
    const one = await postgres.createDatabase();
    const { code, stderr } = await runCommand([...command, "--database", one]);
    assert.equal(code, 0);
    assert.match(stderr, /^made the schema animal_store\n/);
    assert.doesNotMatch((await runCommand([...command, "--database", one])).stderr, /schema/);
  }
});

test("keys and check work on a database of release 3.0, and change nothing of its schema", { skip }, async () => {
  const url = await createOld(postgres);
  const store = ["--database", url];
  const before = await schemaOf(url);
  const run = async (...command) => {
    const { code, stdout, stderr } = await runCommand([...command, ...store]);
    assert.equal(code, 0, stderr);
    return stdout + stderr;
  };
  assert.match(await run("check"), /^the database is intact: 2 animals, .*; a start would migrate its schema from version 5 to 6\nthe server would start\n$/);
  assert.match(await run("keys", "list"), new RegExp(keyId));
  assert.match(await run("keys", "show", keyId), /active/);
  assert.match(await run("keys", "create"), /as_/);
  for (const [name, value] of [["label", "till"], ["expire", "2100-01-31"]]) {
    assert.match(await run("keys", name, keyId, value), /^key_/);
  }
  assert.match(await run("keys", "revoke", keyId), /^revoked/);
  assert.deepEqual(await schemaOf(url), before);
});

test("an import into a database of release 3.0 is refused in a line that says what to do", { skip }, async () => {
  const url = await createOld(postgres);
  const before = await schemaOf(url);
  const folder = guardedFolder("animals");
  writeFileSync(join(folder, "animals.jsonl"), '{"name":"Rex","categoryId":1}\n');
  writeFileSync(join(folder, "pets.jsonl"), '{"id":1,"name":"Rex"');
  for (const path of [join(folder, "animals.jsonl"), folder]) {
    const { code, stdout, stderr } = await runCommand(["import", path, "--database", url]);
    assert.deepEqual([code, stdout], [2, ""], stderr);
    assert.match(stderr, /^Cannot use --database \S+: the schema has to be migrated before an import: start a server once\n$/);
  }
  assert.deepEqual(await schemaOf(url), before);
});

test("check and a start say which right a migration needs, and the start changes nothing", { skip }, async () => {
  const url = await createOld(postgres);
  const before = await schemaOf(url);
  await postgres.query(`CREATE ROLE writer LOGIN; GRANT USAGE ON SCHEMA animal_store TO writer;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA animal_store TO writer`, undefined, url);
  const writer = Object.assign(new URL(url), { username: "writer" }).href;
  const assertRefused = async (reason) => {
    const checked = await runCommand(["check", "--database", writer]);
    assert.deepEqual([checked.code, reason.test(checked.stdout), /would not start\n$/.test(checked.stdout)], [1, true, true], checked.stdout);
    const { code, stderr } = await runCommand(["--port", "0", "--database", writer]);
    assert.deepEqual([code, reason.test(stderr)], [2, true], stderr);
    assert.deepEqual(await schemaOf(url), before);
  };
  await assertRefused(/permission denied for schema animal_store|must be owner of/);
  await postgres.query("GRANT CREATE ON SCHEMA animal_store TO writer", undefined, url);
  await assertRefused(/must be owner of/);
  const [{ owner }] = await postgres.query("SELECT current_user AS owner", [], url);
  await postgres.query(`GRANT ${owner} TO writer`, undefined, url);
  assert.match((await runCommand(["check", "--database", writer])).stdout, /would migrate its schema from version 5 to 6\nthe server would start\n$/);
});

test("a database of an older release is refused by a start and each command, in a line that says to start 3.0 once", { skip }, async () => {
  const url = await createOld(postgres);
  await postgres.query("UPDATE animal_store.version SET version = 4", [], url);
  const before = await schemaOf(url);
  for (const command of [["--port", "0"], ["check"], ["keys", "list"], ["keys", "create"]]) {
    const { code, stdout, stderr } = await runCommand([...command, "--database", url]);
    assert.equal(code, command[0] === "check" ? 1 : 2);
    assert.match(stdout + stderr, /^Cannot use --database \S+: the schema animal_store has version 4, of a release before 3\.0: start release 3\.0 on it once, which migrates it\n/);
  }
  assert.deepEqual(await schemaOf(url), before);
});

test("a database of release 3.0 is served with its animals, keys, limits and idempotency keys", { skip }, async (context) => {
  const program = await startProgram(["--database", await createOld(postgres)]);
  const [client, other] = [key, bannedKey].map((one) => newClient(program, one));
  context.after(() => (client.close(), other.close(), program.stop()));
  const { text, headers } = await client.get("/v1/pets");
  assert.deepEqual(JSON.parse(text).map(({ id, name, status }) => [id, name, status]), [[1, "Rex", "pending"], [2, "Mimi", "sold"]]);
  assert.equal(headers["x-ratelimit-remaining"], "52");
  assert.equal(JSON.parse((await other.get("/v1/pets")).text).code, "key_banned");
  const again = await client.add({ name: "Mimi", categoryId: 2, status: "sold" }, { "idempotency-key": "once" });
  assert.deepEqual([again.headers["idempotent-replayed"], JSON.parse(again.text).id], ["true", 2]);
  assert.equal(JSON.parse((await client.add({ name: "New", categoryId: 1 })).text).id, 3);
});

/** All that the program makes in a database, but for white space, and whether a constraint was ever checked. */
const schemaText = `
  SELECT p.oid::regprocedure::text AS name, prorettype::regtype::text AS type, provolatile::text, proconfig::text,
    regexp_replace(prosrc, '\\s+', ' ', 'g') AS body FROM pg_proc AS p WHERE pronamespace = 'animal_store'::regnamespace
  UNION ALL
  SELECT attrelid::regclass || '.' || attname, format_type(atttypid, atttypmod), attnotnull::text,
    concat(relreplident, reloptions, attcollation::regcollation, col_description(attrelid, attnum)), pg_get_expr(adbin, adrelid)
    FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
    WHERE relnamespace = 'animal_store'::regnamespace AND relkind = 'r' AND attnum > 0
  UNION ALL
  SELECT indexname, NULL, NULL, NULL, indexdef FROM pg_indexes WHERE schemaname = 'animal_store'
  UNION ALL
  SELECT conname, NULL, NULL, NULL, regexp_replace(pg_get_constraintdef(oid), ' NOT VALID$', '') FROM pg_constraint
    WHERE connamespace = 'animal_store'::regnamespace
  UNION ALL
  SELECT 'version', version::text, NULL, NULL, NULL FROM animal_store.version
  ORDER BY 1, 5`;

test("a new schema is the one that a database of release 3.0 has once it is migrated", { skip }, async () => {
  const [fresh, url] = [await postgres.createDatabase(), await createOld(postgres)];
  assert.equal((await runCommand(["keys", "create", "--database", fresh])).code, 0);
  const program = await startProgram(["--database", url]);
  await until("the index for categories is built", () => /the index for categories is built/.test(program.stderr()));
  await program.stop();
  const [expected, migrated] = await Promise.all([fresh, url].map((one) => postgres.query(schemaText, [], one)));
  assert.ok(expected.length > 40);
  assert.deepEqual(migrated, expected);
});

for (const name of names) {
  test(`a start migrates a database with once.${name}, and says so in a line`, { skip }, async (context) => {
    const url = await createOld(postgres, name);
    const program = await startProgram(["--database", url]);
    context.after(() => program.kill());
    assert.match(program.stderr(), /^migrated the schema animal_store from version 5 to 6$/m);
    await program.stop();
    const columns = (await schemaOf(url))["animal_store.once"];
    assert.equal(columns, `hash pet_id at ${name}${name === "status" ? " changed_to" : ""} result`);
  });

  test(`no statement of an instance of release 3.0 fails while a start migrates (once.${name}), those under way included`, { skip }, async (context) => {
    const url = await createOld(postgres, name);
    const pool = openPool(context, url, { max: 16 });
    const send = async (name, text, values) => (await pool.query({ name, text, values })).rows[0].answer;
    const statements = [
      () => send("get", "SELECT animal_store.get($1)::text AS answer", [[1, 2]]),
      () => pool.query("SELECT set_config('statement_timeout', '2500', true); SELECT animal_store.list('{0,0}', '{9,9}', ARRAY[NULL,'sold']::text[])::text AS answer"),
      () => send("take", "SELECT animal_store.take($1, $2, $3, $4)::text AS answer", [["key"], [1], [60], [1000]]),
      () => send("purge", "SELECT animal_store.purge($1, $2)::text AS answer", [0, 100]),
      () => send("events", "SELECT count(*) AS answer FROM animal_store.key_events_after($1, $2)", [0, 100]),
      () => send("decide", "SELECT animal_store.decide_commit($1)::text AS answer", [randomUUID()]),
      () => send("append", "SELECT animal_store.append_key_event($1, $2, $3, $4)::text AS answer", [1, "{}", null, "another"]),
    ];
    const add = () => {
      const values = [randomUUID(), '[{"name":"Rex","categoryId":1,"status":"available"}]', [randomUUID().slice(0, 22)]];
      return send("add", "SELECT animal_store.add($1, $2, array_replace($3::text[], '', NULL))::text AS answer", values);
    };
    const change = () => {
      const values = [randomUUID(), [1], ["sold"], ["available pending sold"], [randomUUID().slice(0, 22)]];
      return send("change", "SELECT animal_store.change_statuses($1, $2, $3, $4, array_replace($5::text[], '', NULL))::text AS answer", values);
    };
    let isOver = false;
    let slowestMs = 0;
    const repeat = async (statement) => {
      for (let count = 1; !isOver; count += 1) {
        const start = performance.now();
        await statement();
        slowestMs = Math.max(slowestMs, performance.now() - start);
      }
    };
    // Several adds and changes wait for the counter's row at any moment, so at that of the commit, too.
    const running = [...statements, add, add, add, add, change, change, change].map(repeat);
    const database = new Database(new pg.Pool({ connectionString: url }), assert.fail);
    const lines = [];
    await Promise.race([prepareSchema(database, (line) => lines.push(line), "migrate"), ...running]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    isOver = true;
    await Promise.all(running);
    assert.match(lines.join(), /^migrated the schema/);
    assert.ok(slowestMs < 2_000, `${slowestMs} ms`);
  });
}

test("an instance of release 3.0 and a new one read what the other stores, and their ids and hashes are one", { skip }, async (context) => {
  const url = await createOld(postgres);
  const [pool, connection] = [openPool(context, url), new pg.Client({ connectionString: url })];
  await connection.connect();
  context.after(() => connection.end());
  const old = async (name, text, values) => JSON.parse((await connection.query({ name, text: `SELECT animal_store.${text}::text AS answer`, values })).rows[0].answer);
  const oldGet = (...ids) => old("get", "get($1)", [ids]);
  const oldAdd = (names, hashes) => old("add", "add($1, $2, array_replace($3::text[], '', NULL))",
    [randomUUID(), JSON.stringify(names.map((name) => ({ name, categoryId: 2, status: "sold" }))), hashes]);
  const oldChange = (id, status, froms, once) => old("change", "change_statuses($1, $2, $3, $4, array_replace($5::text[], '', NULL))",
    [randomUUID(), [id], [status], [froms], [once]]);
  await oldGet(1); // It is prepared before the schema is migrated.
  const database = new Database(pool, assert.fail);
  await prepareSchema(database, () => undefined, "migrate");
  const store = new PostgresPetStore(database, systemClock);

  assert.equal((await changeStatus(store, 1, { status: "sold", from: ["pending"] })).version, 2);
  const known = (rows) => rows.map((row) => row.slice(0, 4)); // It reads no more of a row.
  assert.deepEqual(known(await oldGet(1, 2)), [[1, "Rex", "1", "sold"], [2, "Mimi", "2", "sold"]]);
  const { last, replays } = await oldAdd(["Max", "Mimi"], ["", hash]);
  assert.deepEqual([last, known([replays[2]])], [3, [[2, "Mimi", "2", "sold"]]]);
  assert.match((await store.get(3)).json, /"name":"Max"/);
  assert.equal((await store.add(mimi)).id, 4);

  const [sale, create, reservation] = ["a", "b", "c"].map((letter) => letter.repeat(22));
  await changeStatus(store, 2, { status: "available", from: ["sold"] }, sale);
  assert.deepEqual((await oldChange(2, "available", "sold", sale)).replays, { 1: "replay", "1 added": [2, "Mimi", "2", "available", 2] });
  assert.deepEqual((await oldChange(1, "available", "sold", sale)).replays, { 1: "conflict" });
  assert.deepEqual((await oldChange(2, "sold", "sold pending", "")).replays, { 1: "available" });
  const answer = await oldAdd(["Mimi"], [sale]);
  assert.deepEqual([answer.last, answer.replays[1].length], [4, 4]);
  assert.ok(!["available", "pending", "sold"].includes(answer.replays[1][3]), "so the instance answers that the key is another request's");
  assert.equal((await store.add(mimi, create)).id, 5);
  assert.deepEqual(known([(await oldAdd(["Mimi"], [create])).replays[1]]), [[5, "Mimi", "2", "sold"]]);

  const answered = await oldChange(2, "pending", "available", reservation);
  assert.deepEqual(answered, { last: 5, replays: null });
  assert.equal((await store.get(2)).version, 3, "what it changes makes a version");
  assert.deepEqual(await store.change(2, { status: "pending" }, ifMatch(), reservation),
    { kind: "changed", json: '{"id":2,"name":"Mimi","categoryId":2,"status":"pending"}', version: 3, isReplay: true });
  const commit = randomUUID();
  const values = [commit, [2, 9, 2], ["sold", "sold", "available"], ["sold", "sold", "pending"], ["", "", ""]];
  const batch = await old("change", "change_statuses($1, $2, $3, $4, array_replace($5::text[], '', NULL))", values);
  assert.deepEqual(batch, { last: 5, replays: { 1: "pending", 2: "absent" } });
  assert.deepEqual(await old("decide", "decide_commit($1)", [commit]), batch, "as it is if the answer was lost");
});

test("what release 3.0 stored is replayed as it was, without a version, after the animal was corrected and removed", { skip }, async (context) => {
  for (const column of names) {
    const database = new Database(openPool(context, await createOld(postgres, column)), assert.fail);
    await prepareSchema(database, () => undefined, "migrate");
    const store = new PostgresPetStore(database, systemClock);
    const verify = async () => {
      const { json, isReplay } = await store.add(mimi, hash);
      assert.deepEqual([json, isReplay], ['{"id":2,"name":"Mimi","categoryId":2,"status":"sold"}', true]);
      await assert.rejects(store.add({ ...mimi, name: "Momo" }, hash), IdempotencyConflictError);
      assert.deepEqual(await store.change(1, { status: "pending" }, ifMatch(), changeHash),
        { kind: "changed", json: '{"id":1,"name":"Rex","categoryId":1,"status":"pending"}', version: undefined, isReplay: true });
      for (const change of [{ status: "sold" }, { name: "Max" }]) {
        await assert.rejects(store.change(1, change, always, changeHash), IdempotencyConflictError);
      }
    };
    await verify();
    for (const [id, version] of [[1, 2], [2, 2]]) {
      assert.equal((await store.change(id, { name: "Max", categoryId: -1n, status: "available" }, always)).version, version);
    }
    await verify();
    for (const id of [1, 2]) {
      assert.equal((await store.remove(id, ifMatch("available-2"))).kind, "removed");
    }
    await verify();
  }
});

test("beside an instance of release 3.0 a removed animal is gone there, too, and what it repeats adds nothing", { skip }, async (context) => {
  const url = await createOld(postgres);
  const [pool, connection] = [openPool(context, url), new pg.Client({ connectionString: url })];
  await connection.connect();
  context.after(() => connection.end());
  const old = async (text, values) => JSON.parse((await connection.query(`SELECT animal_store.${text}::text AS answer`, values)).rows[0].answer);
  const database = new Database(pool, assert.fail);
  await prepareSchema(database, () => undefined, "migrate");
  const store = new PostgresPetStore(database, systemClock);
  const sale = "s".repeat(22);
  await changeStatus(store, 2, { status: "available", from: ["sold"] }, sale);
  assert.equal((await store.remove(2, ifMatch("available"))).kind, "removed");
  assert.deepEqual(await old("get($1)", [[1, 2]]), [[1, "Rex", "1", "pending", 1]]);
  assert.deepEqual(await old("list('{0,0}', '{9,9}', ARRAY[NULL,'available']::text[])"), [[[1, "Rex", "1", "pending", 1]], null]);
  const oldChange = (once) => old("change_statuses($1, $2, $3, $4, array_replace($5::text[], '', NULL))",
    [randomUUID(), [2], ["available"], ["available pending sold"], [once]]);
  assert.deepEqual((await oldChange("")).replays, { 1: "absent" });
  assert.deepEqual((await oldChange(sale)).replays, { 1: "replay", "1 added": [2, "Mimi", "2", "available", 2] });
  const repeated = [randomUUID(), JSON.stringify([{ name: "Mimi", categoryId: 2, status: "sold" }, { name: "New", categoryId: 1, status: "sold" }]), [hash, ""]];
  assert.deepEqual(await old("add($1, $2, array_replace($3::text[], '', NULL))", repeated), { last: 3, replays: { 1: [2, "Mimi", "2", "sold", null] } });
});

const reading = "LOCK TABLE animal_store.pets, animal_store.once, animal_store.counter IN ACCESS SHARE MODE";

for (const [what, statement] of [
  ["that reads, as that of pg_dump", reading],
  ["that has changed animals", "UPDATE animal_store.pets SET status = 'sold', added = coalesce(added, status)"],
  ["that vacuums", "LOCK TABLE animal_store.pets, animal_store.once IN SHARE UPDATE EXCLUSIVE MODE"],
  ["that is prepared", "UPDATE animal_store.once SET at = at; PREPARE TRANSACTION 'forgotten'"],
  ["that lets nobody write", "LOCK TABLE animal_store.pets, animal_store.once, animal_store.limits, animal_store.key_events IN EXCLUSIVE MODE"],
]) {
  test(`a start waits for a transaction ${what}, whatever statement_timeout is, and nobody waits for it`, { skip: skipFaults }, async (context) => {
    const url = await createOld(postgres);
    await postgres.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET statement_timeout = '2s'`); // Who waits for the holder fails.
    const holder = await lock(context, url, statement);
    const pool = openPool(context, url);
    let isOver = false;
    const repeat = async (text) => {
      for (const beganMs = performance.now(); !isOver && performance.now() < beganMs + 1_000; ) {
        await pool.query(text);
      }
    };
    const write = `SELECT animal_store.change_statuses(gen_random_uuid(), '{1}', '{sold}', '{sold pending available}', '{NULL}')`;
    const others = ["SELECT animal_store.get('{1,2}')", ...(statement === reading ? [write, write] : [])].map(repeat);
    const migrating = prepareSchema(new Database(openPool(context, url), assert.fail), () => undefined, "migrate");
    await Promise.race([migrating, Promise.all(others)]);
    assert.equal((await postgres.query("SELECT version FROM animal_store.version", [], url))[0].version, 5);
    isOver = true;
    await (/PREPARE/.test(statement) ? postgres.query("ROLLBACK PREPARED 'forgotten'", [], url) : holder.release());
    await migrating;
  });
}

test("a start that finds a transaction of more than 10 s says so, and changes nothing", { skip: skipFaults }, async (context) => {
  const url = await createOld(postgres);
  const before = await schemaOf(url);
  await lock(context, url, reading);
  const { code, stderr } = await runCommand(["--port", "0", "--database", url]);
  assert.equal(code, 2);
  assert.match(stderr, /: the schema has to be migrated, but a long transaction, such as that of pg_dump, uses its tables: start again when it has ended\n$/);
  assert.deepEqual(await schemaOf(url), before);
});

for (const [where, pattern] of [
  ["when it has the lock that other starts wait for", /pg_advisory_xact_lock/],
  ["before its commit", /UPDATE animal_store\.version/],
]) {
  test(`a start that stalls in its migration, ${where}, ends within 1 s, holds up no other start, and tries again`, { skip }, async (context) => {
    const url = await createOld(postgres);
    const pool = openPool(context, url);
    let othersMs;
    const stall = async () => {
      const others = new Database(openPool(context, url), assert.fail);
      const start = performance.now();
      await prepareSchema(others, () => undefined, "migrate");
      othersMs = performance.now() - start;
    };
    const stalling = withQuery(pool, async (client, statement) => {
      const result = await client.query(statement);
      await (othersMs === undefined && pattern.test(statement.text) && stall()); // Its transaction holds its locks.
      return result;
    });
    await prepareSchema(new Database(stalling, assert.fail), () => undefined, "migrate");
    assert.ok(othersMs < 2_000, `${othersMs} ms`);
  });
}

test("what a migration adds may be used by a role that could use the rest, and by instances of release 3.0 as that role", { skip: skipFaults }, async (context) => {
  const url = await createOld(postgres);
  await postgres.query(`CREATE ROLE user_of_it LOGIN; ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
    GRANT USAGE ON SCHEMA animal_store TO user_of_it; REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA animal_store FROM PUBLIC;
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA animal_store TO user_of_it;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA animal_store TO user_of_it`, undefined, url);
  await prepareSchema(new Database(openPool(context, url), assert.fail), () => undefined, "migrate");
  const asUser = Object.assign(new URL(url), { username: "user_of_it" }).href;
  const database = new Database(openPool(context, asUser), assert.fail);
  await prepareSchema(database, assert.fail, "migrate");
  const store = new PostgresPetStore(database, systemClock);
  assert.equal((await store.remove(1, ifMatch("pending"))).kind, "removed");
  assert.deepEqual(await store.list({ after: 0, limit: 9, status: undefined, categoryId: undefined }), { json: '[{"id":2,"name":"Mimi","categoryId":2,"status":"sold"}]', nextAfter: undefined });
  const oldChange = "SELECT animal_store.change_statuses($1, $2, $3, $4, array_replace($5::text[], '', NULL))::text AS answer";
  assert.match((await database.run(oldChange, [randomUUID(), [2], ["sold"], ["sold"], [""]]))[0].answer, /"last"\s*:\s*2/);
});

test("a migration asks nothing of what others have put into the schema", { skip }, async () => {
  const url = await createOld(postgres);
  await postgres.query(`CREATE ROLE service LOGIN; CREATE ROLE owner; GRANT owner TO service; ALTER SCHEMA animal_store OWNER TO owner;
    DO $$ DECLARE one record; BEGIN
      FOR one IN SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'animal_store'::regnamespace AND relkind = 'r'
        LOOP EXECUTE format('ALTER TABLE %s OWNER TO owner', one.name); END LOOP;
      FOR one IN SELECT oid::regprocedure AS name FROM pg_proc WHERE pronamespace = 'animal_store'::regnamespace
        LOOP EXECUTE format('ALTER FUNCTION %s OWNER TO owner', one.name); END LOOP;
    END $$;
    CREATE TABLE animal_store.pets_before_upgrade AS TABLE animal_store.pets;
    CREATE FUNCTION animal_store.of_the_administrator() RETURNS int LANGUAGE sql AS 'SELECT 1'`, undefined, url);
  const service = Object.assign(new URL(url), { username: "service" }).href;
  assert.match((await runCommand(["check", "--database", service])).stdout, /would migrate its schema from version 5 to 6\nthe server would start\n$/);
  await (await startProgram(["--database", service])).stop();
});

test("a database that was taken back to 3.0 by hand has all its functions, and is migrated again", { skip }, async (context) => {
  const database = new Database(openPool(context, await createOld(postgres)), assert.fail);
  // The start of 3.0 counts them, those of one name as well.
  const countText = "SELECT proname AS name, count(*)::int FROM pg_proc WHERE pronamespace = 'animal_store'::regnamespace GROUP BY 1";
  const countFunctions = async () => Object.fromEntries((await database.run(countText)).map(({ name, count }) => [name, count]));
  const functions = await countFunctions();
  for (let round = 0; round < 2; round += 1) {
    const lines = [];
    await prepareSchema(database, (line) => lines.push(line), "migrate");
    assert.deepEqual(lines, ["migrated the schema animal_store from version 5 to 6"]);
    await database.run("UPDATE animal_store.version SET version = 5");
    const left = await countFunctions();
    assert.deepEqual(Object.keys(functions).filter((name) => (left[name] ?? 0) < functions[name]), []);
  }
});
