/**
 * The schema `animal_store`, made and migrated by the instance that starts first.
 *
 * A migration changes tables, and never changes itself once it is published. It must leave the instances working that
 * still run the release before, and must not alter the table `version`: starts that wait for it have read that. The
 * functions of functions.ts are made after the last one.
 */

import { type Database, lockMs, type Query } from "./database.ts";
import { functions } from "./functions.ts";
import { migration1 } from "./migration-1.ts";
import { migration2 } from "./migration-2.ts";
import { checkMayCreate, checkSchema, checkUsage, hasSchema } from "./rights.ts";

/** Migration n makes version n of n - 1. */
const migrations: readonly string[] = [migration1, migration2];

export const schemaVersion: number = migrations.length;

/** The id of this program's advisory lock. */
const migrationLock = 4_207_849_471;
/** How long a migration may take, and the wait for one. PostgreSQL ends one that has stalled after 30 s. */
const migrationMs = 40_000;

/**
 * Makes or migrates the schema. Several instances may do so at a time: the first one does, the others wait for it.
 *
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

async function migrate(query: Query): Promise<void> {
  await query(`SET LOCAL lock_timeout = ${migrationMs}`);
  const lockText = "SELECT pg_advisory_xact_lock($1) /* while another start makes the schema */";
  await query(lockText, [migrationLock], migrationMs);
  await query(`SET LOCAL lock_timeout = ${lockMs}`);
  const version = await readSchemaVersion(query);
  if (version === 0) {
    await checkMayCreate(query);
    if (!(await hasSchema(query))) {
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
export async function readSchemaVersion(query: Query): Promise<number> {
  await checkUsage(query);
  const [found] = await query(
    "SELECT (to_regclass('animal_store.version') IS NOT NULL)::text AS version, " +
      "EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('animal_store'))::text AS anything",
  );
  if (found?.["anything"] === "false") {
    return 0;
  }
  const rows = found?.["version"] === "true" ? await query("SELECT version FROM animal_store.version") : [];
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

/** @param lock keeps others from adding animals until the transaction ends */
export async function readAnimalCount(query: Query, lock: "" | "FOR UPDATE" = ""): Promise<number> {
  const [row] = await query(`SELECT last::text AS last FROM animal_store.counter ${lock}`);
  return Number(row?.["last"]);
}

/** Asks for texts, because an embedder may have changed how its client reads other types. @throws {Error} */
export async function checkSession(query: Query): Promise<void> {
  await checkProduct(query);
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
 * Other databases speak the protocol of PostgreSQL, but each of their nodes has a clock of its own: quotas would leak
 * between them.
 */
async function checkProduct(query: Query): Promise<void> {
  const [row] = await query("SELECT version() AS version");
  const version = String(row?.["version"]);
  if (!/^PostgreSQL (?!\S+-YB-)/.test(version)) {
    throw new Error(`the database is ${version.split(/ \(| on /)[0]}: it must be PostgreSQL itself`);
  }
}
