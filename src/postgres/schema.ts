/**
 * The schema `animal_store`, made and migrated by the instance that starts first, and checked by each start.
 *
 * A migration changes tables, and never changes itself once it is published. No statement of an instance that still
 * runs the release before may fail, also of those under way: they go on with the functions that they began with, so a
 * new column needs a name that none of these uses unqualified. It must not alter the table `version`: starts that wait
 * for it have read that. The functions are made anew after the last one.
 */

import type { Clock } from "../base/clock.ts";
import { pluralize } from "../base/pluralize.ts";
import type { Report } from "../base/report.ts";
import { catalogueFunctions, type ChangedTo } from "./catalogue-functions.ts";
import { type Database, lockMs, type Query } from "./database.ts";
import { functions as otherFunctions } from "./functions.ts";
import { auditRows, oddOfOnce, oddOfPet, type OddRows } from "./invalid-rows.ts";
import { lockTables } from "./lock-tables.ts";
import { migrations } from "./migrations.ts";
import { PostgresKeyLog } from "./postgres-key-log.ts";

const schemaVersion = migrations.length;
/** Of release 2.0: commands work on it, so that a leaked key can be revoked in the middle of an upgrade. */
const usableVersionMin = 3;

const tables = ["commits", "counter", "key_events", "limits", "once", "pets", "version"];
const functions = (changedTo: ChangedTo): string => otherFunctions + catalogueFunctions(changedTo);
const functionNames = Array.from(functions("status").matchAll(/FUNCTION animal_store\.(\w+)/g), ([, name]) => name);

/** The id of this program's advisory lock. */
const migrationLock = 4_207_849_471;
/** How long a migration may take, and the wait for one. PostgreSQL ends one that has stalled after 30 s. */
const migrationMs = 40_000;

/**
 * What may be done with the schema. "migrate": make it, or migrate it, as a server's start does. "make": make it in a
 * database that has none. "use": nothing; it must be of this release or the one before.
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
    if (now < usableVersionMin) {
      throw new Error(`its schema animal_store has version ${now}, of an older release; a start migrates it`);
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
    return { version, ...(await audit(query, version)) };
  });
  if (found === undefined) {
    return { inWords: "the database has no tables of the animal store: a start would make them", remarks: [] };
  }
  const { version, animalCount, odd } = found;
  const { keyring } = await PostgresKeyLog.open({ database, clock, report: () => undefined });
  const migration = `; a start would migrate its schema from version ${version} to ${schemaVersion}`;
  const holds = `the database is intact: ${pluralize(animalCount, "animal")}, ${keyring.countInWords()}`;
  const remarks = Array.from(odd, ([column, { count, first }]) => {
    const rows = pluralize(count, "row");
    return `export refuses ${rows} with a ${column} that no release writes, first that of ${first}`;
  });
  return { inWords: holds + (version < schemaVersion ? migration : ""), remarks };
}

async function audit(query: Query, version: number): Promise<{ animalCount: number; odd: OddRows }> {
  const odd: OddRows = new Map();
  const isUsable = version >= usableVersionMin; // Else it lacks columns, and export does not work.
  const animalCount = await auditRows(query, ["pets", "id"], isUsable ? oddOfPet : "NULL", odd);
  if (isUsable) {
    await auditRows(query, ["once", "hash"], oddOfOnce(await readChangedTo(query)), odd);
  }
  return { animalCount, odd };
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
  if (version > 0) {
    await checkMayMigrate(query);
    await lockTables(query);
  } else {
    if (!(await checkMayCreate(query))) {
      await query("CREATE SCHEMA animal_store");
    }
    await query("CREATE TABLE animal_store.version (version int NOT NULL)");
    await query("INSERT INTO animal_store.version VALUES (0)");
  }
  for (const part of migrations.slice(version)) {
    await query(part, [], migrationMs);
  }
  await query(functions(await readChangedTo(query)), [], migrationMs);
  await query("UPDATE animal_store.version SET version = $1", [schemaVersion]);
  return [version, schemaVersion];
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
