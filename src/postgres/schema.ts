/**
 * The schema `animal_store`, made and migrated by the instance that starts first, and checked by each start.
 *
 * A migration changes tables, and never changes itself once it is published. It must leave the instances working that
 * still run the release before, and must not alter the table `version`: starts that wait for it have read that. The
 * functions are made anew after the last one.
 */

import type { Clock } from "../base/clock.ts";
import { counted } from "../base/counted.ts";
import { catalogueFunctions } from "./catalogue-functions.ts";
import { type Database, lockMs, type Query } from "./database.ts";
import { functions as otherFunctions } from "./functions.ts";
import { migration1 } from "./migration-1.ts";
import { migration2 } from "./migration-2.ts";
import { migration3 } from "./migration-3.ts";
import { PostgresKeyLog } from "./postgres-key-log.ts";

/** Migration n makes version n of n - 1. */
const migrations: readonly string[] = [migration1, migration2, migration3];
const schemaVersion = migrations.length;

const tables = ["commits", "counter", "key_events", "limits", "once", "pets", "version"];
const functions = otherFunctions + catalogueFunctions;
const functionNames = Array.from(functions.matchAll(/FUNCTION animal_store\.(\w+)/g), ([, name]) => name);

/** The id of this program's advisory lock. */
const migrationLock = 4_207_849_471;
/** How long a migration may take, and the wait for one. PostgreSQL ends one that has stalled after 30 s. */
const migrationMs = 40_000;

/**
 * Makes or migrates the schema. Several instances may do so at a time: the first one does, the others wait for it.
 * @throws {Error} the database is a replica, lacks a right, has a wrong setting, or a schema that cannot be used
 */
export async function prepareSchema(database: Database): Promise<void> {
  await database.transaction(async (query) => {
    await checkSession(query);
    // A schema that is up to date needs no lock: its holder may have stalled.
    if ((await readSchemaVersion(query)) < schemaVersion) {
      await migrate(query);
    }
    await checkSchema(query);
  });
}

/** Says what is in a database that a start could use. Changes nothing. @throws {Error} why a start would fail */
export async function inspect(database: Database, clock: Clock): Promise<string> {
  const animalCount = await database.transaction(async (query) => {
    await checkSession(query);
    const version = await readSchemaVersion(query);
    if (version === 0) {
      await checkMayCreate(query);
      return undefined;
    }
    if (version === schemaVersion) {
      await checkSchema(query); // A start would make those that an older schema lacks.
    }
    return countAnimals(query);
  });
  if (animalCount === undefined) {
    return "the database has no tables of the animal store: a start would make them";
  }
  const { keyring } = await PostgresKeyLog.open({ database, clock, report: () => undefined });
  return `the database is sound: ${counted(animalCount, "animal")}, ${keyring.countInWords()}`;
}

/** A statement counts so many ids in 10 ms, or 100 ms before a vacuum. */
const countedIds = 100_000;

/** A piece at a time. */
async function countAnimals(query: Query): Promise<number> {
  const lastId = await readLastId(query);
  let count = 0;
  for (let after = 0; after < lastId; after += countedIds) {
    const text = "SELECT count(*)::text AS count FROM animal_store.pets WHERE id > $1 AND id <= $2";
    const [row] = await query(text, [after, after + countedIds]);
    count += Number(row?.["count"]);
  }
  return count;
}

/**
 * There are fewer animals if there are gaps.
 * @param lock keeps others from adding animals until the transaction ends
 */
export async function readLastId(query: Query, lock: "" | "FOR UPDATE" = ""): Promise<number> {
  const [row] = await query(`SELECT last::text AS last FROM animal_store.counter ${lock}`);
  return Number(row?.["last"]);
}

async function migrate(query: Query): Promise<void> {
  await query(`SET LOCAL lock_timeout = ${migrationMs}`);
  const lockText = "SELECT pg_advisory_xact_lock($1) /* while another start makes the schema */";
  await query(lockText, [migrationLock], migrationMs);
  await query(`SET LOCAL lock_timeout = ${lockMs}`);
  const version = await readSchemaVersion(query);
  if (version === 0) {
    if (!(await checkMayCreate(query))) {
      await query("CREATE SCHEMA animal_store");
    }
    await query("CREATE TABLE animal_store.version (version int NOT NULL)");
    await query("INSERT INTO animal_store.version VALUES (0)");
  }
  for (const part of [...migrations.slice(version), functions]) {
    await query(part, [], migrationMs);
  }
  await query("UPDATE animal_store.version SET version = $1", [schemaVersion]);
}

/** Returns 0 if there is no schema, or an empty one. @throws {Error} it cannot be used, or a newer release made it */
async function readSchemaVersion(query: Query): Promise<number> {
  if (await holds(query, "NOT has_schema_privilege(to_regnamespace('animal_store'), 'USAGE')")) {
    throw new Error("the user has no right to USAGE of the schema animal_store");
  }
  if (!(await holds(query, "EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('animal_store'))"))) {
    return 0;
  }
  const isThere = await holds(query, "to_regclass('animal_store.version') IS NOT NULL");
  const rows = isThere ? await query("SELECT version FROM animal_store.version") : [];
  const version = Number(rows[0]?.["version"]);
  if (rows.length !== 1 || !(version >= 1)) {
    throw new Error("the schema animal_store is damaged, or not made by this program: it has no version");
  }
  if (version > schemaVersion) {
    const known = `this release knows ${schemaVersion}: a newer release made it`;
    throw new Error(`the schema animal_store has version ${version}, ${known}`);
  }
  return version;
}

/** @throws {Error} the server is not PostgreSQL, or a setting is wrong */
async function checkSession(query: Query): Promise<void> {
  const [server] = await query("SELECT version() AS version");
  const version = String(server?.["version"]);
  // Others speak its protocol, but each of their nodes has a clock of its own: quotas would leak between them.
  if (!/^PostgreSQL (?!\S+-YB-)/.test(version)) {
    throw new Error(`the database is ${version.split(/ \(| on /)[0]}: it must be PostgreSQL itself`);
  }
  const [row] = await query(
    "SELECT current_setting('transaction_isolation') AS isolation, " +
      "current_setting('transaction_read_only') AS read_only, current_setting('server_encoding') AS encoding",
  );
  if (row?.["read_only"] === "on") {
    throw new Error("the database is a replica or read-only: connect to the primary");
  }
  if (row?.["isolation"] !== "read committed") {
    throw new Error(`the isolation level is ${String(row?.["isolation"])}: it must be read committed`);
  }
  if (row?.["encoding"] !== "UTF8") {
    // A name that it cannot hold would fail every animal of its batch.
    throw new Error(`the encoding of the database is ${String(row?.["encoding"])}: it must be UTF8`);
  }
}

/**
 * Returns whether there is a schema. An administrator may have made it, for a user who may not.
 * @throws {Error} the user may not make the schema, or the tables in an empty one
 */
async function checkMayCreate(query: Query): Promise<boolean> {
  const isThere = await holds(query, "to_regnamespace('animal_store') IS NOT NULL");
  const [place, right] = isThere
    ? ["schema animal_store", "has_schema_privilege('animal_store', 'CREATE')"]
    : ["database", "has_database_privilege(current_database(), 'CREATE')"];
  if (!(await holds(query, right))) {
    throw new Error(`the user may not create the tables: the right CREATE on the ${place} is missing`);
  }
  return isThere;
}

/** A table that is missing lacks every right. */
const missingText = `
SELECT name, (to_regclass('animal_store.' || name) IS NULL)::text AS is_missing, string_agg(needed, ', ') AS rights
FROM unnest($1::text[]) AS name, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS needed
WHERE has_table_privilege(to_regclass('animal_store.' || name), needed) IS NOT TRUE
GROUP BY name ORDER BY name LIMIT 1`;

const missingFunctionText = `
SELECT name FROM unnest($1::text[]) AS name WHERE NOT EXISTS (
  SELECT FROM pg_proc
  WHERE pronamespace = 'animal_store'::regnamespace AND proname = name AND has_function_privilege(oid, 'EXECUTE')
) LIMIT 1`;

/**
 * Otherwise a start would succeed, and each request fail.
 * @throws {Error} naming a table, a function or a right that is missing, or the counter if it is damaged
 */
async function checkSchema(query: Query): Promise<void> {
  const [row] = await query(missingText, [tables]);
  if (row !== undefined) {
    const table = `the table animal_store.${String(row["name"])}`;
    const noRight = `the user has no right to ${String(row["rights"])} on ${table}`;
    throw new Error(row["is_missing"] === "true" ? `${table} is missing` : noRight);
  }
  const [lost] = await query(missingFunctionText, [functionNames]);
  if (lost !== undefined) {
    throw new Error(`the function animal_store.${String(lost["name"])} is missing, or the user may not execute it`);
  }
  const lastId = "(SELECT coalesce(max(id), 0) FROM animal_store.pets)";
  if (!(await holds(query, `SELECT count(*) = 1 AND max(last) >= ${lastId} FROM animal_store.counter`))) {
    throw new Error("the table animal_store.counter is damaged: it must have one row, with the last id");
  }
}

/** Asks for a text, because an embedder may have changed how its client reads other types. */
async function holds(query: Query, condition: string): Promise<boolean> {
  const [row] = await query(`SELECT (${condition})::text AS answer`);
  return row?.["answer"] === "true";
}
