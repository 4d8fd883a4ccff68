/**
 * The schema `animal_store`, made and migrated by the instance that starts first, and checked by each start.
 *
 * No statement of an instance that still runs the release before may fail through a migration, also of those under way:
 * they go on with the functions that they began with, so a new column needs a name that none of these uses unqualified.
 * A migration must not alter the table `version`, which starts that wait for it have read.
 */

import type { Clock } from "../base/clock.ts";
import { pluralize } from "../base/pluralize.ts";
import type { Report } from "../base/report.ts";
import { catalogueFunctions, type ChangedTo } from "./catalogue-functions.ts";
import { type Database, lockMs, type Query } from "./database.ts";
import { functions as otherFunctions } from "./functions.ts";
import { migrations, oldestTables, oldestVersion } from "./migrations.ts";
import { PostgresKeyLog } from "./postgres-key-log.ts";

const schemaVersion = oldestVersion + migrations.length;

const tables = ["commits", "counter", "key_events", "limits", "once", "pets", "version"];
const functions = (changedTo: ChangedTo): string => otherFunctions + catalogueFunctions(changedTo);
const functionNames = Array.from(functions("status").matchAll(/FUNCTION animal_store\.(\w+)/g), ([, name]) => name);

/** How long the count of all animals may take. */
const countMs = 60_000;

/** The id of this program's advisory lock. */
const migrationLock = 4_207_849_471;
/** How long a migration may take, and the wait for one. */
const migrationMs = 40_000;
/** PostgreSQL ends a migration whose process has stalled for so long. */
const migrationIdleMs = 1_000;

/**
 * What may be done with the schema. "migrate": make it, or migrate it, as a server's start does. "make": make it in a
 * database that has none. "use": nothing. The last two work on the schema of the release before, too, so that a leaked
 * key can be revoked in the middle of an upgrade.
 */
export type SchemaWork = "migrate" | "make" | "use";

/**
 * Several instances may make or migrate the schema at a time: the first one does, the others wait for it.
 * @param report takes a line if it was made or migrated
 * @throws {Error} the database is a replica, lacks a right, has a wrong setting, or a schema that cannot be used
 */
export async function prepareSchema(database: Database, report: Report, work: SchemaWork = "migrate"): Promise<void> {
  const [earlier, version] = await database.transaction(async (query) => {
    await checkSession(query);
    const found = await readSchemaVersion(query);
    // A schema that is up to date needs no lock: its owner may have stalled.
    const isOld = work === "migrate" ? found < schemaVersion : work === "make" && found === 0;
    const versions = isOld ? await migrate(query, work) : ([found, found] as const);
    const [, now] = versions;
    if (now === 0) {
      throw new Error("it has no tables of the animal store; a start, import and keys create make them");
    }
    await checkSchema(query, now);
    return versions;
  });
  if (earlier < version) {
    const done = earlier === 0 ? "made" : "migrated";
    report(`${done} the schema animal_store${earlier === 0 ? "" : ` from version ${earlier} to ${version}`}`);
  }
}

/** What a start would find, and what no start looks at. */
export interface Inspection {
  readonly inWords: string;
  readonly remarks: readonly string[];
}

/** Says what is in a database that a start could use. Changes nothing. @throws {Error} why a start would fail */
export async function inspect(database: Database, clock: Clock): Promise<Inspection> {
  const found = await database.transaction(async (query) => {
    await checkSession(query);
    const version = await readSchemaVersion(query);
    if (version === 0) {
      await checkMayCreate(query);
      return undefined;
    }
    await checkSchema(query, version);
    if (version < schemaVersion) {
      await checkMayMigrate(query);
    }
    const [row] = await query("SELECT count(*)::text AS count FROM animal_store.pets", [], countMs);
    return { version, animalCount: Number(row?.["count"]) };
  });
  if (found === undefined) {
    return { inWords: "the database has no tables of the animal store: a start would make them", remarks: [] };
  }
  const { version, animalCount } = found;
  const { keyring } = await PostgresKeyLog.open({ database, clock, report: () => undefined });
  const migration = `; a start would migrate its schema from version ${version} to ${schemaVersion}`;
  const holds = `the database is intact: ${pluralize(animalCount, "animal")}, ${keyring.countInWords()}`;
  return { inWords: holds + (version < schemaVersion ? migration : ""), remarks: [] };
}

/** The name depends on the release that added the column: see migrations.ts. */
export async function readChangedTo(query: Query): Promise<ChangedTo> {
  const isOld = "attrelid = 'animal_store.once'::regclass AND attname = 'status' AND NOT attisdropped";
  return (await holds(query, `EXISTS (SELECT FROM pg_attribute WHERE ${isOld})`)) ? "status" : "changed_to";
}

/**
 * There are fewer animals if there are gaps.
 * @param lock keeps others from adding animals until the transaction ends
 */
export async function readLastId(query: Query, lock: "" | "FOR UPDATE" = ""): Promise<number> {
  const [row] = await query(`SELECT last::text AS last FROM animal_store.counter ${lock}`);
  return Number(row?.["last"]);
}

/** Returns the versions before and after. */
async function migrate(query: Query, work: SchemaWork): Promise<readonly [number, number]> {
  await query(`SET LOCAL lock_timeout = ${migrationMs}`);
  const lockText = "SELECT pg_advisory_xact_lock($1) /* while another start makes the schema */";
  await query(lockText, [migrationLock], migrationMs);
  await query(`SET LOCAL lock_timeout = ${lockMs}`);
  const version = await readSchemaVersion(query);
  if (version === schemaVersion || (version > 0 && work === "make")) {
    return [version, version];
  }
  const parts = version === 0 ? await makingParts(query) : await migratingParts(query, version);
  // In one text, so that a process that is stopped, or cut off, holds no lock between two statements.
  await query(`SET LOCAL idle_in_transaction_session_timeout = ${migrationIdleMs}`);
  await query(`${parts.join("")}UPDATE animal_store.version SET version = ${schemaVersion}`, [], migrationMs);
  return [version, schemaVersion];
}

async function makingParts(query: Query): Promise<readonly string[]> {
  const isThere = await checkMayCreate(query);
  return [...(isThere ? [] : ["CREATE SCHEMA animal_store;"]), oldestTables, ...migrations, functions("changed_to")];
}

async function migratingParts(query: Query, version: number): Promise<readonly string[]> {
  await checkMayMigrate(query);
  return [...migrations.slice(version - oldestVersion), functions(await readChangedTo(query))];
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
  if (version < oldestVersion) {
    const advice = "start release 2.1 on it once, which migrates it";
    throw new Error(`its schema animal_store has version ${version}, of a release before 2.1: ${advice}`);
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

const notOwnedText = `
SELECT relname AS name FROM pg_class
WHERE relnamespace = 'animal_store'::regnamespace AND relkind = 'r' AND NOT pg_has_role(relowner, 'USAGE')
UNION ALL SELECT proname FROM pg_proc
WHERE pronamespace = 'animal_store'::regnamespace AND NOT pg_has_role(proowner, 'USAGE')
ORDER BY name LIMIT 1`;

/** @throws {Error} the user may not make functions in the schema, or alter what is there, as only an owner may */
async function checkMayMigrate(query: Query): Promise<void> {
  await checkMayCreate(query);
  const [row] = await query(notOwnedText);
  if (row !== undefined) {
    const lacks = `the user does not own animal_store.${String(row["name"])}`;
    throw new Error(`the schema has to be migrated, but ${lacks}: start once as the owner of its tables and functions`);
  }
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
async function checkSchema(query: Query, version: number): Promise<void> {
  const [row] = await query(missingText, [tables]);
  if (row !== undefined) {
    const table = `the table animal_store.${String(row["name"])}`;
    const noRight = `the user has no right to ${String(row["rights"])} on ${table}`;
    throw new Error(row["is_missing"] === "true" ? `${table} is missing` : noRight);
  }
  // A start would make those that an older schema lacks.
  const [lost] = version < schemaVersion ? [] : await query(missingFunctionText, [functionNames]);
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
