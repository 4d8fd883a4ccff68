/**
 * Databases of earlier releases: what commands do with them, what a start makes of them, and instances of those releases
 * that go on meanwhile. Of these the statements are sent that they send, to the functions that they made.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import pg from "pg";
import { systemClock } from "../../build/src/base/clock.js";
import { Database } from "../../build/src/postgres/database.js";
import { PostgresPetStore } from "../../build/src/postgres/postgres-pet-store.js";
import { prepareSchema } from "../../build/src/postgres/schema.js";
import { lock } from "./faults.js";
import { guardedFolder } from "./guarded-folder.js";
import { openPool, skip, startPostgres } from "./postgres-server.js";
import { runCommand, startProgram } from "./program.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

/** Each has the animals Rex and Mimi; the second one was added with the hash. */
const releases = { "1.2": { version: 2 }, "2.0": { version: 3 } };
const hash = "0123456789abcdefghijkl";
const changeHash = "lkjihgfedcba9876543210";
const mimi = { name: "Mimi", categoryId: 2n, status: "sold" };
const keyId = /"id":"(key_\w+)"/.exec(made("2.0"))?.[1];

function made(release) {
  return readFileSync(new URL(`release-${release}.sql`, import.meta.url), "utf8");
}

async function createOld(release) {
  const url = await postgres.createDatabase();
  await postgres.query(made(release), undefined, url);
  return url;
}

/** All that a migration changes. */
async function schemaOf(url) {
  const rows = await postgres.query(
    `SELECT attrelid::regclass::text AS of, string_agg(attname, ' ' ORDER BY attnum) AS what FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
       WHERE relnamespace = to_regnamespace('animal_store') AND relkind = 'r' AND attnum > 0 GROUP BY 1
     UNION ALL SELECT oid::regprocedure::text, md5(prosrc) FROM pg_proc WHERE pronamespace = to_regnamespace('animal_store') ORDER BY 1`,
    [], url);
  return Object.fromEntries(rows.map(({ of, what }) => [of, what]));
}

test("a command on a database without tables makes none, but import and keys create, which say so", { skip }, async () => {
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
    [["keys", "list"], /it has no tables of the animal store; a start, import and keys create make them\n$/],
    [["keys", "show", "key_000000000000000"], /it has no tables/],
    [["keys", "revoke", "key_000000000000000"], /it has no tables/],
    [["export", join(guardedFolder("out"), "out")], /it has no tables/],
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
  const program = await startProgram(store);
  assert.match(program.output().stderr, /made the schema animal_store\n/);
  await program.stop();
});

test("keys, check and export work on a database of release 2.0, and change nothing of its schema", { skip }, async () => {
  const url = await createOld("2.0");
  const store = ["--database", url];
  const before = await schemaOf(url);
  const run = async (...command) => {
    const { code, stdout, stderr } = await runCommand([...command, ...store]);
    assert.equal(code, 0, stderr);
    return stdout + stderr;
  };
  assert.match(await run("check"), /^the database is intact: 2 animals, .*; a start would migrate its schema from version 3 to 4\nthe server would start\n$/);
  assert.match(await run("keys", "list"), new RegExp(keyId));
  assert.match(await run("keys", "show", keyId), /active/);
  assert.match(await run("keys", "create"), /as_/);
  for (const [name, value] of [["label", "till"], ["expire", "2100-01-31"]]) {
    assert.match(await run("keys", name, keyId, value), /^warning: an instance of release 1\.2 cannot read this: [^\n]*\nkey_/);
  }
  assert.match(await run("keys", "revoke", keyId), /^revoked/);
  const folder = join(guardedFolder("export"), "folder");
  assert.match(await run("export", folder), /^exported 2 animals/);
  assert.match(readFileSync(join(folder, "pets.jsonl"), "utf8"), new RegExp(`"status":"pending".*"once":"${changeHash}"`));
  assert.deepEqual(await schemaOf(url), before);
});

test("check and a start say which right a migration needs, and the start changes nothing", { skip }, async () => {
  const url = await createOld("2.0");
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
  await assertRefused(/the right CREATE on the schema animal_store is missing\n/);
  await postgres.query("GRANT CREATE ON SCHEMA animal_store TO writer", undefined, url);
  await assertRefused(/the user does not own animal_store\.\w+: start once as the owner of its tables and functions\n/);
  const [{ owner }] = await postgres.query("SELECT current_user AS owner", [], url);
  await postgres.query(`GRANT ${owner} TO writer`, undefined, url);
  assert.match((await runCommand(["check", "--database", writer])).stdout, /would migrate its schema from version 3 to 4\nthe server would start\n$/);
});

test("of a database of release 1.2 check says that a start would migrate it; the other commands refuse it in a sentence", { skip }, async () => {
  const url = await createOld("1.2");
  const before = await schemaOf(url);
  const checked = await runCommand(["check", "--database", url]);
  assert.match(checked.stdout, /; a start would migrate its schema from version 2 to 4\nthe server would start\n$/);
  for (const command of [["keys", "list"], ["keys", "create"], ["export", join(guardedFolder("out"), "out")]]) {
    const { code, stdout, stderr } = await runCommand([...command, "--database", url]);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /^Cannot use --database \S+: its schema animal_store has version 2, of an older release; a start migrates it\n$/);
  }
  assert.deepEqual(await schemaOf(url), before);
});

for (const [release, { version }] of Object.entries(releases)) {
  test(`a start migrates a database of release ${release}, says so in a line, and keeps what it knows`, { skip }, async (context) => {
    const url = await createOld(release);
    const program = await startProgram(["--database", url]);
    context.after(() => program.kill());
    assert.match(program.stderr(), new RegExp(`^migrated the schema animal_store from version ${version} to 4$`, "m"));
    await program.stop();
    const columns = (await schemaOf(url))["animal_store.once"];
    assert.equal(columns, `hash pet_id at ${release === "2.0" ? "status" : "changed_to"}`);
    const pool = openPool(context, url);
    const store = new PostgresPetStore(new Database(pool, assert.fail), systemClock);
    assert.equal((await store.add(mimi, hash)).isReplay, true);
    const change = { status: "sold", from: ["available", "pending"] };
    assert.equal((await store.changeStatus(1, change, "b".repeat(22))).isReplay, false);
    assert.equal((await store.changeStatus(1, change, "b".repeat(22))).isReplay, true);
    await assert.rejects(store.add(mimi, "b".repeat(22)), { name: "IdempotencyConflictError" });
    const folder = join(guardedFolder("export"), "folder");
    const exported = await runCommand(["export", folder, "--database", url]);
    assert.equal(exported.code, 0, exported.stderr);
    const copy = await postgres.createDatabase();
    const imported = await runCommand(["import", folder, "--database", copy]);
    assert.equal(imported.code, 0, imported.stderr);
    const again = openPool(context, copy);
    const moved = new PostgresPetStore(new Database(again, assert.fail), systemClock);
    assert.equal((await moved.changeStatus(1, change, "b".repeat(22))).isReplay, true);
  });

  test(`no statement of an instance of release ${release} fails while a start migrates, those under way included`, { skip }, async (context) => {
    const url = await createOld(release);
    const pool = openPool(context, url, { max: 16 });
    const send = async (name, text, values) => (await pool.query({ name, text, values })).rows[0].answer;
    const statements = [
      () => send("get", "SELECT animal_store.get($1)::text AS answer", [[1, 2]]),
      () => send("list", "SELECT animal_store.list($1, $2, array_replace($3::text[], '', NULL))::text AS answer", [[0, 0], [9, 9], ["", "sold"]]),
      () => send("take", "SELECT animal_store.take($1, $2, $3, $4)::text AS answer", [["key"], [1], [60], [1000]]),
      () => send("purge", "SELECT animal_store.purge($1, $2)::text AS answer", [0, 100]),
      () => send("events", "SELECT count(*) AS answer FROM animal_store.key_events_after($1, $2)", [0, 100]),
      () => send("decide", "SELECT animal_store.decide_commit($1)::text AS answer", [randomUUID()]),
      () => send("append", "SELECT animal_store.append_key_event($1, $2, $3, $4)::text AS answer", [1, "{}", null, "another"]),
    ];
    const add = () => {
      const values = [randomUUID(), ["Rex"], ["1"], ["available"], [randomUUID().slice(0, 22)]];
      return send("add", "SELECT animal_store.add($1, $2, $3, $4, array_replace($5::text[], '', NULL))::text AS answer", values);
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
    const running = [...statements, add, add, add, add, ...(release === "2.0" ? [change, change, change] : [])].map(repeat);
    const database = new Database(new pg.Pool({ connectionString: url }), assert.fail);
    const lines = [];
    await Promise.race([prepareSchema(database, (line) => lines.push(line)), ...running]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    isOver = true;
    await Promise.all(running);
    assert.match(lines.join(), /^migrated the schema/);
    assert.ok(slowestMs < 2_000, `${slowestMs} ms`);
  });
}

test("a start beside pg_dump refuses in words, and holds up no running instance", { skip }, async (context) => {
  const url = await createOld("1.2");
  const dump = await lock(context, `${url}?application_name=pg_dump`, "LOCK TABLE animal_store.pets IN ACCESS SHARE MODE");
  const starting = runCommand(["--port", "0", "--database", url]);
  let isOver = false;
  void starting.then(() => (isOver = true));
  const pool = openPool(context, url);
  let slowestMs = 0;
  while (!isOver) {
    const start = performance.now();
    await pool.query("SELECT animal_store.get($1)", [[1]]);
    slowestMs = Math.max(slowestMs, performance.now() - start);
  }
  const { code, stderr } = await starting;
  assert.equal(code, 2);
  assert.match(stderr, /, but pg_dump \(process \d+ of the database\) uses the table animal_store\.pets in a long transaction: start again when [^\n]*\n$/);
  assert.ok(slowestMs < 500, `${slowestMs} ms`);
  await dump.release();
  const program = await startProgram(["--database", url]);
  await program.stop();
});
