/**
 * Starts that cannot succeed, and starts at the same time.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { Database } from "../../build/src/postgres/database.js";
import { purge } from "../../build/src/postgres/postgres-engine.js";
import { newClient } from "../../build/test/support/client.js";
import { until } from "../../build/test/support/until.js";
import { openPool, skipFaults, startPostgres } from "./postgres-server.js";
import { lock, lockWaits, startService } from "./faults.js";
import { startInstance } from "./instance.js";
import { guardedFolder } from "./guarded-folder.js";
import { runCommand, startProgram } from "./program.js";
import { startProxy } from "./proxy.js";
import { createOld, key } from "./release-3.0.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

/** The start fails soon, with one line, and the process ends. */
async function assertRefused(url, reason) {
  const start = performance.now();
  await assert.rejects(startInstance(url), ({ message }) => {
    assert.match(message, reason);
    assert.equal(message.trimEnd().split("\n").length, 1, message);
    return true;
  });
  assert.ok(performance.now() - start < 5_000, `${performance.now() - start} ms`);
}

test("a wrong user, database or password ends a start and each command in one line with exit code 2", { skip: skipFaults }, async () => {
  const hba = join(postgres.folder, "data", "pg_hba.conf");
  writeFileSync(hba, `host all locked 127.0.0.1/32 scram-sha-256\n${readFileSync(hba, "utf8")}`);
  await postgres.query("CREATE ROLE locked LOGIN PASSWORD 'right'");
  await postgres.set("work_mem", "5MB"); // This reads the file too.
  const url = await postgres.createDatabase();
  const file = join(guardedFolder("animals"), "animals.jsonl");
  writeFileSync(file, '{"name":"Rex","categoryId":1}\n');
  const commands = [["--port", "0"], ["check"], ["keys", "list"], ["import", file]];
  for (const [change, reason] of [
    [{ username: "nobody" }, 'role "nobody" does not exist'],
    [{ pathname: "/absent" }, 'database "absent" does not exist'],
    [{ username: "locked", password: "wrong-secret" }, 'password authentication failed for user "locked"'],
    [{ username: "locked" }, "the database asks for a password"],
  ]) {
    const { href } = Object.assign(new URL(url), change);
    const refusal = new RegExp(`^(?!.*wrong-secret)Cannot use --database \\S+: ${reason}\n$`);
    for (const command of commands) {
      const { code, stdout, stderr } = await runCommand([...command, "--database", href]);
      assert.deepEqual([code, stdout], [2, ""], `${command}: ${stderr}`);
      assert.match(stderr, refusal);
    }
  }
});

test("an address that stays silent stops the start", { skip: skipFaults }, async (context) => {
  const proxy = await startProxy(postgres.url());
  context.after(() => proxy.stop());
  proxy.cut();
  await assertRefused(proxy.url, /timeout/);
});

test("somebody's lock, or a network that is cut during the start, stops it and commands, which say what they waited for", { skip: skipFaults }, async (context) => {
  const url = await postgres.createDatabase();
  await startService(context, [url]);
  const { release } = await lock(context, url, "LOCK TABLE animal_store.version");
  await assertRefused(url, /: canceling statement due to lock timeout: SELECT version FROM animal_store\.version\n$/);
  for (const command of [["check"], ["keys", "list"]]) {
    const { stdout, stderr } = await runCommand([...command, "--database", url]);
    assert.match(stdout + stderr, /^Cannot use --database \S+: .* lock timeout: SELECT version FROM animal_store\.version\n/);
  }

  const proxy = await startProxy(url);
  context.after(() => proxy.stop());
  const starting = assertRefused(proxy.url, /: no answer within 3 s: SELECT version FROM animal_store\.version\n$/);
  await lockWaits(postgres, url);
  proxy.cut();
  await Promise.all([starting, release()]);
});

test("SELECT, INSERT, UPDATE and DELETE on the tables are all the rights that a role needs", { skip: skipFaults }, async (context) => {
  const url = await postgres.createDatabase();
  await startService(context, [url]);
  await postgres.query("CREATE ROLE least LOGIN");
  const least = Object.assign(new URL(url), { username: "least" }).href;
  await assertRefused(least, /: permission denied for schema animal_store/);
  await postgres.query("GRANT USAGE ON SCHEMA animal_store TO least", [], url);
  await assertRefused(least, /: permission denied for table \w+/);
  await postgres.query("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA animal_store TO least", [], url);
  const { clients: [client] } = await startService(context, [least]);
  for (const isReplay of [false, true]) {
    const { headers, status } = await client.add({ name: "Rex", categoryId: 1 }, { "idempotency-key": "rex" });
    assert.deepEqual([status, headers["idempotent-replayed"] === "true"], [201, isReplay]);
  }
  await postgres.query("UPDATE animal_store.once SET at = '-infinity'", [], url);
  const pool = openPool(context, least);
  await purge(new Database(pool, assert.fail), new AbortController().signal);
  assert.deepEqual(await postgres.query("SELECT FROM animal_store.once", [], url), []);
});

test("a start misses each table, by its name", { skip: skipFaults }, async (context) => {
  const url = await postgres.createDatabase();
  await startService(context, [url]);
  const tables = await postgres.query("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'animal_store'", [], url);
  assert.ok(tables.length > 5);
  for (const { name } of tables) {
    await postgres.query(`ALTER TABLE animal_store.${name} RENAME TO away`, [], url);
    await assertRefused(url, name === "version" ? /it has no version/ : new RegExp(`relation "animal_store\\.${name}" does not exist`));
    await postgres.query(`ALTER TABLE animal_store.away RENAME TO ${name}`, [], url);
  }
});

/** Three at the same instant, which wait for longer than other locks are waited for. */
async function atOnce(context, url, begin) {
  const { release } = await lock(context, url, "SELECT pg_advisory_xact_lock(4207849471)"); // The migrations' own.
  const running = [1, 2, 3].map(() => begin());
  const settled = Promise.allSettled(running);
  await lockWaits(postgres, url, { of: "pg_advisory_xact_lock", count: 3 });
  await postgres.query("SELECT pg_sleep(2.5)");
  await release();
  await settled;
  return Promise.all(running);
}

test("three keys create at the same instant make one schema, and three keys", { skip: skipFaults }, async (context) => {
  const url = await postgres.createDatabase();
  const ended = await atOnce(context, url, () => runCommand(["keys", "create", "--database", url]));
  assert.deepEqual(ended.map(({ code }) => code), [0, 0, 0]);
  assert.equal(ended.filter(({ stderr }) => stderr.startsWith("made the schema animal_store\n")).length, 1);
  const program = await startProgram(["--database", url]);
  context.after(() => program.kill());
  assert.match(program.stdout(), / \(postgres:\/\/\S+, 0 animals, 3 keys\)\n$/);
});

test("three starts at the same instant migrate once, all serve, and no key is printed", { skip: skipFaults }, async (context) => {
  const url = await createOld(postgres);
  const programs = await atOnce(context, url, async () => {
    const program = await startProgram(["--database", url]);
    context.after(() => program.kill());
    return program;
  });
  assert.equal(programs.filter((program) => program.stderr().includes("migrated the schema")).length, 1);
  assert.ok(programs.every((program) => program.firstKey === undefined));
  const clients = programs.map((program) => newClient(program, key));
  context.after(() => clients.forEach((client) => client.close()));
  const added = await Promise.all(clients.map((client) => client.add({ name: "Rex", categoryId: 1 })));
  assert.deepEqual(added.map(({ text }) => JSON.parse(text).id).sort(), [3, 4, 5]);
});

test("a schema that is up to date is used at once, although a start that makes one has stalled", { skip: skipFaults }, async (context) => {
  const url = await postgres.createDatabase();
  await startService(context, [url]);
  await lock(context, url, "SELECT pg_advisory_xact_lock(4207849471)");
  await startService(context, [url]);
  assert.equal((await runCommand(["keys", "list", "--database", url])).code, 0);
});

test("a connection that is ended while it makes the schema leaves nothing behind, and the schema is made on another one", { skip: skipFaults },
  async (context) => {
    const url = await postgres.createDatabase();
    const { release } = await lock(context, url, "CREATE SCHEMA animal_store"); // It waits for this one's fate, holding its lock.
    const creating = runCommand(["keys", "create", "--database", url]);
    const [{ pid }] = await lockWaits(postgres, url);
    await postgres.query("SELECT pg_terminate_backend($1)", [pid]);
    await until("it waits on another connection", async () => (await lockWaits(postgres, url))[0].pid !== pid);
    await release();
    assert.equal((await creating).code, 0);
    assert.equal((await postgres.query("SELECT FROM animal_store.version", [], url)).length, 1);
  });
