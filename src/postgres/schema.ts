/**
 * Makes the schema `animal_store`, migrates it, and checks it before it is used (schema-checks.ts).
 *
 * A migration must not make a statement fail of an instance that still runs the release before. Statements under way go
 * on with the functions that they began with, so a new column needs a name that no such function uses unqualified. And
 * it must not alter the table `version`, which starts that wait for the migration have read.
 */

import type { Clock } from "../base/clock.ts";
import { pluralize } from "../base/pluralize.ts";
import type { Report } from "../base/report.ts";
import { catalogueFunctions, categoryIndex } from "./catalogue-functions.ts";
import { DatabaseError } from "./database-error.ts";
import { type Database, lockMs, type Query } from "./database.ts";
import { functions as otherFunctions } from "./functions.ts";
import { migrations, oldestTables, oldestVersion } from "./migrations.ts";
import { PostgresKeyLog } from "./postgres-key-log.ts";
import { checkSession, checkTables, holds, readVersion } from "./schema-checks.ts";

const schemaVersion = oldestVersion + migrations.length;

const functions = otherFunctions + catalogueFunctions;

/** How long the count of all animals may take. */
const countMs = 60_000;

/** The id of this program's advisory lock. */
const migrationLock = 4_207_849_471;
/** How long a migration may take, and how long another start waits for it. */
const migrationMs = 40_000;
/** PostgreSQL ends a migration whose process stalls for so long. Then the start tries it again. */
const migrationIdleMs = 1_000;
const triesMax = 5;

/**
 * What may be done with the schema. "migrate": bring it up to date, as a server's start does. "make": make it in a
 * database that has none. "use": change nothing. "make" and "use" work on the schema of the release before, too, so
 * that a leaked key can be revoked in the middle of an upgrade. "import": as "make", but only on a schema of this one.
 */
export type SchemaWork = "migrate" | "make" | "import" | "use";

/** The versions of the schema before and after the work; 0 if there is none. */
type Versions = readonly [before: number, after: number];

/**
 * Several processes may make or migrate the schema at a time: the first one does, the others wait for it.
 * @param report takes a line if the schema was made or migrated
 * @throws {Error} the database is a replica, lacks a right, has a wrong setting, or a schema that cannot be used
 */
export async function prepareSchema(database: Database, report: Report, work: SchemaWork): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      const [before, after] = await database.transaction((query) => prepareWithin(query, work));
      if (before < after) {
        const done = before === 0 ? "made" : "migrated";
        report(`${done} the schema animal_store${before === 0 ? "" : span(before, after)}`);
      }
      return;
    } catch (error) {
      const isCutOff = error instanceof DatabaseError && error.effect === "unknown";
      if (!isCutOff || tries === triesMax) {
        throw error;
      }
    }
  }
}

/** Says what is in a database, by a start that is rolled back. @throws {Error} why a start would fail */
export async function inspect(database: Database, clock: Clock): Promise<string> {
  const [before, after] = await database.transaction((query) => prepareWithin(query, "migrate"), { end: "ROLLBACK" });
  const { keyring } = await PostgresKeyLog.open({ database, clock, report: () => undefined });
  const animals = pluralize(await countAnimals(database, countMs), "animal");
  const migration = before < after ? `; a start would migrate its schema${span(before, after)}` : "";
  return `the database is intact: ${animals}, ${keyring.countInWords()}${migration}`;
}

/** @throws {Error} it takes longer than `limitMs` */
export async function countAnimals(database: Database, limitMs: number): Promise<number> {
  return database.transaction(async (query) => {
    await query(`SET LOCAL statement_timeout = ${limitMs}`); // So that it ends in the database, too.
    const [row] = await query("SELECT count(*)::text AS count FROM animal_store.pets");
    return Number(row?.["count"]);
  }, { eachMs: limitMs + lockMs });
}

function span(before: number, after: number): string {
  return ` from version ${before} to ${after}`;
}

/** What one transaction does. */
async function prepareWithin(query: Query, work: SchemaWork): Promise<Versions> {
  await checkSession(query);
  const found = await readVersion(query, schemaVersion);
  const isChanged = work === "migrate" ? found > 0 && found < schemaVersion : work !== "use" && found === 0;
  // A schema that is up to date needs no lock: a process that has stalled may hold the lock.
  const versions: Versions = isChanged ? await makeOrMigrate(query, work) : [found, found];
  const [, version] = versions;
  if (version === 0) {
    throw new Error("the database has no tables of the animal store; keys create and import make them");
  }
  if (work === "import" && version < schemaVersion) {
    throw new Error("the schema has to be migrated before an import: start a server once");
  }
  await checkTables(query);
  return versions;
}

async function makeOrMigrate(query: Query, work: SchemaWork): Promise<Versions> {
  // Set before the lock is asked for: a process that is stopped, or cut off, holds other starts up with it.
  await query(`SET LOCAL idle_in_transaction_session_timeout = ${migrationIdleMs}`);
  await query(`SET LOCAL lock_timeout = ${migrationMs}`);
  const lockText = "SELECT pg_advisory_xact_lock($1) /* while another process makes the schema */";
  await query(lockText, [migrationLock], migrationMs);
  await query(`SET LOCAL lock_timeout = ${lockMs}`);
  const version = await readVersion(query, schemaVersion);
  if (version === schemaVersion || (version > 0 && work !== "migrate")) {
    return [version, version];
  }
  const parts = version === 0 ? await making(query) : await migrating(query, version);
  // In one text, so that it holds no lock of a table while this process takes its time between two statements.
  await query(`${parts.join("")}UPDATE animal_store.version SET version = ${schemaVersion}`, [], migrationMs);
  return [version, schemaVersion];
}

async function making(query: Query): Promise<readonly string[]> {
  // An administrator may have made the schema for a user who has no right to make one.
  const isThere = await holds(query, "to_regnamespace('animal_store') IS NOT NULL");
  const parts = [oldestTables, ...migrations, functions, `CREATE INDEX ${categoryIndex};`];
  return isThere ? parts : ["CREATE SCHEMA animal_store;", ...parts];
}

/** Checks the tables before it changes any: in the middle of a restore some are missing, and no migration may begin. */
async function migrating(query: Query, version: number): Promise<readonly string[]> {
  await checkTables(query);
  return [...migrations.slice(version - oldestVersion), functions];
}

/** Returns the highest id that was given, and keeps others from adding animals until the transaction ends. */
export async function readLastId(query: Query): Promise<number> {
  const [row] = await query("SELECT last::text AS last FROM animal_store.counter FOR UPDATE");
  return Number(row?.["last"]);
}
