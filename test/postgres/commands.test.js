/**
 * The command line with `--database`: `keys`, `check`, `import` of new animals, and what is printed.
 */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { newClient } from "../../build/test/support/client.js";
import { until } from "../../build/test/support/until.js";
import { addingBatch, lock, lockCounter, lockWaits } from "./faults.js";
import { guardedFolder } from "./guarded-folder.js";
import { skip, skipFaults, startPostgres } from "./postgres-server.js";
import { createKey, runCommand, startProgram } from "./program.js";
import { startProxy } from "./proxy.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

test("keys are made, listed with use and bans, rotated, unbanned and revoked beside a server", { skip }, async (context) => {
  const store = ["--database", await postgres.createDatabase()];
  const key = await createKey(store, "free");
  const program = await startProgram(store);
  context.after(() => program.kill());
  assert.doesNotMatch(program.stdout(), /as_/, "this is no first start");
  const client = newClient(program, key);
  context.after(() => client.close());
  const list = async () => JSON.parse((await runCommand(["keys", "list", "--json", ...store])).stdout);
  await client.get("/v1/pets");
  const { id, ...first } = await list();
  assert.deepEqual([first.state, first.plan, first.minute.used, first.day.used, first.bannedUntil], ["active", "free", 1, 1, null]);

  await postgres.query(
    "UPDATE animal_store.limits SET ban_ms = 300000, ban_until = animal_store.clock_ms() + 300000",
    [], store[1],
  );
  assert.equal((await client.get("/v1/pets")).status, 429);
  const leftMs = Date.parse((await list()).bannedUntil) - Date.now();
  assert.ok(leftMs > 280_000 && leftMs <= 300_000, `${leftMs}`);
  assert.deepEqual(await runCommand(["keys", "unban", id, ...store]), { code: 0, stdout: "", stderr: `lifted the ban of ${id}\n` });
  assert.equal((await client.get("/v1/pets")).status, 200);
  assert.equal((await list()).bannedUntil, null);

  for (const [args, said] of [
    [["label", id, "till"], `${id} has the label "till"`],
    [["label", id, "till"], `${id} had the label "till" already`],
    [["expire", id, "2100-01-31"], `${id} has the expiry 2100-01-31T00:00:00Z`],
    [["expire", id, "2100-01-31"], `${id} had the expiry 2100-01-31T00:00:00Z already`],
  ]) {
    const { code, stdout, stderr } = await runCommand(["keys", ...args, ...store]);
    assert.deepEqual([code, stdout, stderr], [0, "", `${said}\n`]);
  }
  assert.match((await runCommand(["keys", "show", id, ...store])).stdout, /^EXPIRES +2100-01-31T00:00:00Z\nLABEL +till\n/m);

  const rotated = await runCommand(["keys", "rotate", id, ...store]);
  const rotatedClient = newClient(program, rotated.stdout.trim());
  context.after(() => rotatedClient.close());
  await until("the new secret works", async () => (await rotatedClient.get("/v1/pets")).status === 200);
  assert.equal((await client.get("/v1/pets")).status, 401);
  assert.equal((await runCommand(["keys", "revoke", id, ...store])).code, 0);
  await until("the key is revoked", async () => (await rotatedClient.get("/v1/pets")).status === 401);
  const unknown = await runCommand(["keys", "revoke", "key_000000000000000", ...store]);
  assert.deepEqual([unknown.code, unknown.stderr], [1, 'Cannot revoke key: no key has the id "key_000000000000000"\n']);
  assert.equal((await runCommand(["keys", "create", "--plan", "gold", ...store])).code, 2);
  await program.stop();
});

test("import adds new animals after those that are there, and names lines that are not valid", { skip }, async () => {
  const store = ["--database", await postgres.createDatabase()];
  const file = join(guardedFolder("animals"), "animals.jsonl");
  writeFileSync(file, '{"name":"Rex","categoryId":1}\n'.repeat(1_200));
  const fromInput = { wrapper: ["sh", "-c", `exec "$@" < ${file}`, "sh"] };
  for (const [name, how, stderr] of [[file, {}, "made the schema animal_store\n"], ["-", fromInput, ""]]) {
    assert.deepEqual(await runCommand(["import", name, ...store], how), { code: 0, stdout: "imported 1200 animals\n", stderr });
  }
  assert.deepEqual(await runCommand(["keys", "list", ...store]), { code: 0, stdout: "", stderr: "no keys in the database\n" });
  writeFileSync(file, '{"name":"Rex","categoryId":1}\n{"name":""}\n');
  const refused = await runCommand(["import", file, ...store]);
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /line 2: .*\nCannot import .*: 1 of 2 lines is not valid; nothing was imported\n$/s);
  assert.match((await runCommand(["check", ...store])).stdout, /^the database is intact: 2400 animals, 0 keys\n/);
});

test("animals that have an id, as in a list of the API or a pets.jsonl, are no new ones", { skip }, async () => {
  const url = await postgres.createDatabase();
  const path = join(guardedFolder("list"), "list.jsonl");
  writeFileSync(path, '{"id":1,"name":"Rex","categoryId":1,"status":"available"}\n');
  const { code, stdout, stderr } = await runCommand(["import", path, "--database", url]);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /line 1: .*"id" is not a property of NewPet.*\nCannot import .*; nothing was imported$/m);
});

/** Each makes a database unusable, given its address. The reason is what `check` and a start say. */
const unusable = [
  ["is read-only", (url) => alter(url, "default_transaction_read_only = on"), /a replica or read-only/],
  ["isolates transactions more", (url) => alter(url, "default_transaction_isolation = serializable"), /isolation level is serializable/],
  [
    "has a newer schema",
    async (url) => {
      await runCommand(["keys", "create", "--database", url]);
      await postgres.query("UPDATE animal_store.version SET version = 99", [], url);
    },
    /has version 99, this release knows \d+: a newer release made it/,
  ],
  ...Object.entries({
    "has tables of another program in a schema of the same name": [
      "DROP SCHEMA animal_store CASCADE; CREATE SCHEMA animal_store; CREATE TABLE animal_store.pets ()",
      /schema animal_store is damaged, or not made by this program: it has no version/,
    ],
    "has lost its version": ["DELETE FROM animal_store.version", /schema animal_store is damaged/],
    "was restored over its own tables": [
      "INSERT INTO animal_store.version SELECT * FROM animal_store.version",
      /schema animal_store is damaged, .*: it has 2 versions, as after a restore into full tables/,
    ],
    "has no known version": ["UPDATE animal_store.version SET version = 0", /schema animal_store is damaged/],
    "has lost its counter": ["DELETE FROM animal_store.counter", /animal_store\.counter is damaged/],
    "has two counters": ["INSERT INTO animal_store.counter VALUES (0)", /animal_store\.counter is damaged/],
    "would give an id again": [
      "INSERT INTO animal_store.pets VALUES (1, 'Rex', 1, 'sold')",
      /animal_store\.counter is damaged: it must have one row, with the last id/,
    ],
  }).map(([name, [statements, reason]]) => {
    const damage = async (url) => {
      await runCommand(["keys", "create", "--database", url]);
      await postgres.query(statements, undefined, url);
    };
    return [name, damage, reason];
  }),
];

test("a user who may not make a schema can use the one that an administrator made for it", { skip: skipFaults }, async () => {
  const url = await postgres.createDatabase();
  await postgres.query("CREATE ROLE tenant LOGIN");
  await postgres.query("CREATE SCHEMA animal_store AUTHORIZATION tenant", [], url);
  const database = ["--database", url.replace("app@", "tenant@")];
  assert.equal((await runCommand(["keys", "create", ...database])).code, 0);
  assert.match((await runCommand(["check", ...database])).stdout, /1 key\b/);
});

test("keys create and import of a user who may not make a schema end with a line that names the right", { skip: skipFaults }, async () => {
  const url = await postgres.createDatabase();
  await postgres.query("CREATE ROLE guest LOGIN");
  const { code, stdout, stderr } = await runCommand(["keys", "create", "--database", url.replace("app@", "guest@")]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /permission denied for database .*\n$/);
});

async function alter(url, setting) {
  await postgres.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${setting}`);
}

for (const [what, spoil, reason] of unusable) {
  test(`a database that ${what} stops check with exit code 1, a start and keys with 2, in one line`, { skip: skipFaults }, async () => {
    const url = await postgres.createDatabase();
    const spoilt = ["--database", (await spoil(url)) ?? url];
    const checked = await runCommand(["check", ...spoilt]);
    assert.deepEqual([checked.code, checked.stderr], [1, ""]);
    assert.match(checked.stdout, new RegExp(`^Cannot use --database .*(${reason.source}).*\nthe server would not start\n$`));
    for (const command of [["--port", "0"], ["keys", "create"]]) {
      const { code, stdout, stderr } = await runCommand([...command, ...spoilt]);
      assert.deepEqual([code, stdout], [2, ""], stderr);
      assert.match(stderr, new RegExp(`^Cannot use --database [^\n]*(${reason.source})[^\n]*\n$`));
    }
  });
}

test("check says that a database has no tables, makes none, and then what it holds", { skip }, async () => {
  const url = await postgres.createDatabase();
  const check = () => runCommand(["check", "--database", url]);
  const without = await check();
  assert.equal(without.code, 1);
  assert.match(without.stdout, /: the database has no tables of the animal store; keys create and import make them\nthe server would not start\n$/);
  assert.equal((await postgres.query("SELECT FROM pg_namespace WHERE nspname = 'animal_store'", [], url)).length, 0);
  await createKey(["--database", url]);
  assert.match((await check()).stdout, /^the database is intact: 0 animals, 1 key\nthe server would start\n$/);
  const [, id] = /^made (\S+)/.exec((await runCommand(["keys", "create", "--database", url])).stderr);
  await runCommand(["keys", "revoke", id, "--database", url]);
  assert.match((await check()).stdout, /^the database is intact: 0 animals, 2 keys, 1 of them active\n/);
  await postgres.query("UPDATE animal_store.key_events SET line = replace(line, 'made', 'Made')", [], url);
  const damaged = await check();
  assert.deepEqual([damaged.code, /key event 1 in the database: its checksum does not match/.test(damaged.stdout)], [1, true]);
});

test("check and a start count the animals of a database, however many they are and whatever ids are missing", { skip }, async () => {
  const store = ["--database", await postgres.createDatabase()];
  await createKey(store);
  await postgres.query("INSERT INTO animal_store.pets SELECT id, 'Rex', 1, 'sold' FROM generate_series(1, 250000) AS id", [], store[1]);
  await postgres.query("UPDATE animal_store.counter SET last = 250000", [], store[1]);
  assert.match((await runCommand(["check", ...store])).stdout, /^the database is intact: 250000 animals, 1 key\nthe server would start\n$/);
  await postgres.query("DELETE FROM animal_store.pets WHERE id IN (1, 120000, 250000)", [], store[1]);
  const { stdout } = await runCommand(["check", ...store]);
  assert.equal(stdout, "the database is intact: 249997 animals, 1 key\nthe server would start\n");
  const program = await startProgram(store);
  await program.stop();
  assert.match(program.stdout(), /^listening on .*, 249997 animals, 1 key\)$/m);
});

test("a database that cannot be reached is one line within 3 s, and no command prints a password", { skip }, async () => {
  const url = (await postgres.createDatabase()).replace("app@", "app:sesame-123@");
  const folder = guardedFolder("folder");
  const away = url.replace(/:\d+\//, ":1/");
  writeFileSync(join(folder, "new.jsonl"), '{"name":"Rex","categoryId":1}\n');
  const printed = [];
  const commands = [["keys", "create"], ["check"], ["keys", "list"], ["import", join(folder, "new.jsonl")]];
  for (const command of commands) {
    const begunMs = Date.now();
    const { code, stdout, stderr } = await runCommand([...command, "--database", away]);
    assert.ok(Date.now() - begunMs < 3_000);
    assert.equal(code, 2);
    const shown = away.replace("sesame-123", "***");
    assert.ok((stdout + stderr).startsWith(`Cannot use --database ${shown}: connect ECONNREFUSED`), stdout + stderr);
    const reached = await runCommand([...command, "--database", url]);
    assert.equal(reached.code, 0, reached.stderr);
    const { stdout: out, stderr: err } = await runCommand(command, { env: { ANIMAL_STORE_DATABASE: url, ANIMAL_STORE_DATA: "x" } });
    printed.push(stdout, stderr, reached.stdout, reached.stderr, out, err);
  }
  await assert.rejects(startProgram(["--database", away]), /ended with 2: Cannot use --database \S+: connect ECONNREFUSED [^\n]*\n$/);
  const program = await startProgram(["--database", url, "--log", "requests"]);
  const client = newClient(program, "sesame");
  await client.get("/v1/pets");
  client.close();
  await postgres.terminateBackends(url);
  await program.stop();
  printed.push(program.stdout(), program.stderr());
  assert.doesNotMatch(printed.join(""), /sesame/);
});

test("a create that is in doubt when a server stops gets its response, and the stop ends within 10 s", { skip }, async (context) => {
  const url = await postgres.createDatabase();
  const proxy = await startProxy(url);
  context.after(() => proxy.stop());
  const key = await createKey(["--database", url]);
  const program = await startProgram(["--database", proxy.url]);
  context.after(() => program.kill());
  const client = newClient(program, key);
  context.after(() => client.close());
  const { release } = await lock(context, url, lockCounter);
  const adding = client.add({ name: "Rex", categoryId: 1 });
  await lockWaits(postgres, url, addingBatch);
  proxy.cut();
  await release();
  const begunMs = Date.now();
  const stopped = program.stop();
  const { status, text } = await adding;
  assert.deepEqual([status, JSON.parse(text).code], [503, "outcome_unknown"]);
  await stopped;
  assert.ok(Date.now() - begunMs < 10_000, `${Date.now() - begunMs} ms`);
  assert.match(program.stderr(), /\nstopped\n$/);
});
