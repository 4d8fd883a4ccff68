/**
 * What a connection prepares, on a real PostgreSQL.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import pg from "pg";
import { Database } from "../../build/src/postgres/database.js";
import { openPool, skip, startPostgres } from "./postgres-server.js";

const postgres = await startPostgres();
after(() => postgres?.stop());

/** A database on a pool of one connection, with what is prepared there. */
async function openDatabase(context) {
  const pool = openPool(context, await postgres.createDatabase(), { max: 1 });
  const database = new Database(pool, assert.fail);
  const prepared = async () => (await pool.query("SELECT name, statement FROM pg_prepared_statements")).rows;
  return { pool, database, prepared };
}

const text = "SELECT $1::text AS answer";

test("a statement that the connection no longer knows is sent again without a name, and none is prepared from then on", { skip }, async (context) => {
  const { pool, database, prepared } = await openDatabase(context);
  await database.run(text, ["one"]);
  await pool.query("DEALLOCATE ALL"); // As if the pooler had lent another connection.
  assert.deepEqual(await database.run(text, ["two"]), [{ answer: "two" }]);
  assert.deepEqual(await database.run("SELECT 'three' AS answer"), [{ answer: "three" }]);
  assert.deepEqual(await prepared(), []);
});

test("a statement whose name is in use on the connection is sent again without it, whatever it means there", { skip }, async (context) => {
  const { pool, database, prepared } = await openDatabase(context);
  await database.run(text, ["one"]);
  const [{ name }] = await prepared();
  const client = new pg.Client({ connectionString: pool.options.connectionString });
  await client.connect();
  await client.query(`PREPARE "${name}" AS SELECT 'another' AS answer`);
  const lent = Object.assign(client, { release() {} });
  const pooler = { on() {}, off() {}, connect: async () => lent };
  assert.deepEqual(await new Database(pooler, assert.fail).run(text, ["two"]), [{ answer: "two" }]);
  await client.end();
});

test("a statement that fails for another reason is not sent again", { skip }, async (context) => {
  const { pool } = await openDatabase(context);
  await pool.query("CREATE SEQUENCE tries"); // It counts what is rolled back, too.
  await assert.rejects(new Database(pool, () => undefined).run("SELECT 1 / (nextval('tries') * 0)"), { effect: "none" });
  assert.equal((await pool.query("SELECT last_value::int FROM tries")).rows[0].last_value, 1);
});
