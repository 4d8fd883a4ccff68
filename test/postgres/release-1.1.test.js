/**
 * A database that release 1.1 made.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { skip, startPostgres } from "./postgres-server.js";
import { newClient } from "../../build/test/support/client.js";
import { startProgram } from "./program.js";

/** It has two animals; a key that has used 7 of 60 and 40 of 1,000, and one that is banned. */
const made = readFileSync(new URL("release-1.1.sql", import.meta.url), "utf8");
const [key, banned] = ["as_v2BLoe7CqVjNO06xHWbQCaaZLw64NXrBVJFsz51o8S8", "as_KYvNy0ptUp2ZuysHex7bVwMpTta8LMSWJo0pHJBRnJH"];

const postgres = await startPostgres();
const url = await postgres?.createDatabase();
await postgres?.query(made, [], url);
after(() => postgres?.stop());

test("a database of release 1.1 is served with its animals, keys, limits and idempotency keys", { skip }, async (context) => {
  const program = await startProgram(["--database", url]);
  const [client, other] = [key, banned].map((one) => newClient(program, one));
  context.after(() => (client.close(), other.close(), program.stop()));
  const { text, headers } = await client.get("/v1/pets");
  assert.deepEqual(JSON.parse(text).map(({ id, name, status }) => [id, name, status]), [[1, "Rex", "available"], [2, "Mimi", "sold"]]);
  assert.equal(headers["x-ratelimit-remaining"], "52");
  assert.equal(JSON.parse((await other.get("/v1/pets")).text).code, "key_banned");
  const again = await client.add({ name: "Mimi", categoryId: 2, status: "sold" }, { "idempotency-key": "once" });
  assert.deepEqual([again.headers["idempotent-replayed"], JSON.parse(again.text).id], ["true", 2]);
  assert.equal(JSON.parse((await client.add({ name: "New", categoryId: 1 })).text).id, 3);
});

/** All that the program makes in a database, white space apart. */
const schemaText = `
  SELECT p.oid::regprocedure::text AS name, prorettype::regtype::text AS type, provolatile::text, proconfig::text,
    regexp_replace(prosrc, '\\s+', ' ', 'g') AS body FROM pg_proc AS p WHERE pronamespace = 'animal_store'::regnamespace
  UNION ALL
  SELECT attrelid::regclass || '.' || attname, format_type(atttypid, atttypmod), attnotnull::text,
    concat(relreplident, reloptions, attcollation::regcollation), pg_get_expr(adbin, adrelid)
    FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
    WHERE relnamespace = 'animal_store'::regnamespace AND relkind = 'r' AND attnum > 0
  UNION ALL
  SELECT indexname, NULL, NULL, NULL, indexdef FROM pg_indexes WHERE schemaname = 'animal_store'
  UNION ALL
  SELECT 'version', version::text, NULL, NULL, NULL FROM animal_store.version
  ORDER BY 1`;

test("a first start makes the schema that a database of release 1.1 has once it is migrated", { skip }, async () => {
  const fresh = await postgres.createDatabase();
  for (const one of [fresh, url]) {
    await (await startProgram(["--database", one])).stop();
  }
  const [expected, migrated] = await Promise.all([fresh, url].map((one) => postgres.query(schemaText, [], one)));
  assert.ok(expected.length > 40);
  assert.deepEqual(migrated, expected);
});
