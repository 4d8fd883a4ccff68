/**
 * What a restore leaves half done, and what an administrator does by hand: nobody takes a part for the whole.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Database } from "../../build/src/postgres/database.js";
import { prepareSchema } from "../../build/src/postgres/schema.js";
import { newClient } from "../../build/test/support/client.js";
import { until } from "../../build/test/support/until.js";
import { health, startService } from "./faults.js";
import { openPool, skip, skipFaults, startPostgres } from "./postgres-server.js";
import { createKey, runCommand, startProgram } from "./program.js";
import { createOld } from "./release-3.0.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

/** A start, check and keys end with that line, and leave no file. */
async function assertRefused(url, reason) {
  for (const command of [["--port", "0"], ["check"], ["keys", "list"]]) {
    const { code, stdout, stderr } = await runCommand([...command, "--database", url]);
    assert.notEqual(code, 0, `${command[0]}: ${stdout}`);
    assert.match(stdout + stderr, reason, command[0]);
  }
}

/** What a restore does: first the tables without their keys, then the rows, then the keys. */
test("an instance that starts in the middle of a restore makes nothing, and those that run are well after it", { skip: skipFaults }, async (context) => {
  const url = await postgres.createDatabase();
  const { clients: [client], key } = await startService(context, [url]);
  await client.add({ name: "Rex", categoryId: 1 });
  await postgres.query("ALTER SCHEMA animal_store RENAME TO dumped", [], url);
  await until("it has noticed", async () => (await client.get("/v1/pets")).status === 503 && (await health(client)) === 503);
  await assertRefused(url, /: the database has no tables of the animal store; keys create and import make them\n/);
  assert.deepEqual(await postgres.query("SELECT FROM pg_namespace WHERE nspname = 'animal_store'", [], url), []);
  await postgres.query("ALTER SCHEMA dumped RENAME TO animal_store", [], url);
  await until("it serves", async () => (await client.get("/v1/pets/1")).status === 200 && (await health(client)) === 200);
  assert.equal(JSON.parse((await client.add({ name: "Bella", categoryId: 1 })).text).id, 2);
  const program = await startProgram(["--database", url]);
  context.after(() => program.stop());
  const other = newClient(program, key);
  context.after(() => other.close());
  assert.equal((await other.get("/v1/pets/1")).status, 200);
});

for (const table of ["commits", "key_events", "limits", "once", "pets"]) {
  test(`without the primary key of ${table} nothing starts or migrates`, { skip }, async (context) => {
    const reason = new RegExp(`the table animal_store\\.${table} has no valid primary key`);
    const url = await postgres.createDatabase();
    await createKey(["--database", url]);
    const old = await createOld(postgres);
    for (const one of [url, old]) {
      await postgres.query(`ALTER TABLE animal_store.${table} DROP CONSTRAINT ${table}_pkey`, [], one);
    }
    await assertRefused(url, reason);
    const database = new Database(openPool(context, old), assert.fail);
    await assert.rejects(prepareSchema(database, assert.fail, "migrate"), reason);
    assert.equal((await postgres.query("SELECT version FROM animal_store.version", [], old))[0].version, 5);
  });
}

for (const [what, statement, reason] of [
  ["is missing", "DELETE FROM animal_store.key_events WHERE seq = 2", /key event 3 in the database: the events before it are missing/],
  ["in the middle is damaged", "UPDATE animal_store.key_events SET line = replace(line, 'revoked', 'Revoked') WHERE seq = 2", /key event 2 in the database: its checksum/],
  ["at the end is damaged", "UPDATE animal_store.key_events SET line = line || ' ' WHERE seq = 3", /key event 3 in the database: /],
]) {
  test(`when a key event ${what}, keys list fails as a start does: it may be a revocation`, { skip }, async () => {
    const url = await postgres.createDatabase();
    const store = ["--database", url];
    await createKey(store);
    const [{ id }] = (await runCommand(["keys", "list", "--json", ...store])).stdout.trim().split("\n").map(JSON.parse);
    await runCommand(["keys", "revoke", id, ...store]);
    await createKey(store);
    await postgres.query(statement, [], url);
    await assertRefused(url, reason);
  });
}

test("row security, whatever it hides, ends starts and commands with a line that names the table, and requests with 503", { skip: skipFaults },
  async (context) => {
    const url = await postgres.createDatabase();
    await createKey(["--database", url]);
    await postgres.query(`CREATE ROLE filtered LOGIN; GRANT USAGE ON SCHEMA animal_store TO filtered;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA animal_store TO filtered`, undefined, url);
    const mine = Object.assign(new URL(url), { username: "filtered" }).href;
    const { instances: [instance], clients: [client] } = await startService(context, [mine]);
    await client.add({ name: "Rex", categoryId: 1 });
    for (const table of ["pets", "key_events", "counter", "once", "commits", "limits", "version"]) {
      await postgres.query(`ALTER TABLE animal_store.${table} ENABLE ROW LEVEL SECURITY; CREATE POLICY all_of_them ON animal_store.${table} USING (true)`, undefined, url);
      await assertRefused(mine, new RegExp(`query would be affected by row-level security policy for table "${table}"`));
      if (table === "pets") {
        assert.deepEqual((await Promise.all(["/v1/pets", "/v1/pets/1"].map((path) => client.get(path)))).map(({ status }) => status), [503, 503]);
        assert.match(instance.reports(), /^warning: the database refused a statement: query would be affected by row-level security/m);
      }
      await postgres.query(`DROP POLICY all_of_them ON animal_store.${table}; ALTER TABLE animal_store.${table} DISABLE ROW LEVEL SECURITY`, undefined, url);
    }
    await until("it serves", async () => (await client.get("/v1/pets/1")).status === 200);
    await postgres.query("ALTER TABLE animal_store.pets ENABLE ROW LEVEL SECURITY", [], url);
    assert.equal((await runCommand(["check", "--database", url])).code, 0, "the owner sees all rows");
  });

test("a column that is added to a table by hand changes nothing", { skip: skipFaults }, async (context) => {
  const url = await postgres.createDatabase();
  const { instances: [instance], clients: [client], id } = await startService(context, [url]);
  for (const table of ["commits", "counter", "key_events", "limits", "once", "pets"]) {
    await postgres.query(`ALTER TABLE animal_store.${table} ADD COLUMN noted timestamptz DEFAULT now()`, [], url);
  }
  assert.equal((await client.add({ name: "Rex", categoryId: 1 }, { "idempotency-key": "once" })).status, 201);
  assert.equal((await client.get("/v1/pets")).status, 200);
  await instance.keys.label(id, "till");
  assert.equal((await runCommand(["check", "--database", url])).code, 0);
  await instance.keys.revoke(id);
  assert.equal((await client.get("/v1/pets")).status, 401);
});
