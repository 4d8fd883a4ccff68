/**
 * Says whether a start could use a database, and what is in it. Changes nothing.
 */

import type { Clock } from "../disk/clock.ts";
import type { Database, Query } from "./database.ts";
import { PostgresKeyLog } from "./postgres-key-log.ts";
import { checkSession, hasSchema, newerSchemaText, readSchemaVersion, schemaVersion } from "./schema.ts";

export interface Inspection {
  /** 0 if a start would make the schema. */
  readonly version: number;
  readonly animalCount: number;
  readonly keyCount: number;
}

/** What a start, and the requests after it, do with each table. */
const neededRights = {
  version: "SELECT",
  counter: "SELECT UPDATE",
  pets: "SELECT INSERT",
  commits: "SELECT INSERT UPDATE DELETE",
  once: "SELECT INSERT DELETE",
  key_events: "SELECT INSERT",
  limits: "SELECT INSERT UPDATE DELETE",
};

/** @throws {Error} why a start would fail */
export async function inspect(database: Database, clock: Clock): Promise<Inspection> {
  const { version, animalCount } = await database.transaction(async (query) => {
    await checkSession(query);
    const version = await readSchemaVersion(query);
    await checkRights(query, version);
    const [row] = version > 0 ? await query("SELECT last::float8 AS last FROM animal_store.counter") : [];
    return { version, animalCount: Number(row?.["last"] ?? 0) };
  });
  if (version === 0) {
    return { version, animalCount, keyCount: 0 };
  }
  const { keyring } = await PostgresKeyLog.open({ database, clock, report: () => undefined });
  return { version, animalCount, keyCount: keyring.list().length };
}

/** @throws {Error} naming a right that is missing */
async function checkRights(query: Query, version: number): Promise<void> {
  if (version > schemaVersion) {
    throw new Error(newerSchemaText(version));
  }
  if (version === 0) {
    const place = (await hasSchema(query)) ? "schema animal_store" : "database";
    const [row] = await query(
      place === "database"
        ? "SELECT has_database_privilege(current_database(), 'CREATE')::text AS may_create"
        : "SELECT has_schema_privilege('animal_store', 'CREATE')::text AS may_create",
    );
    if (row?.["may_create"] !== "true") {
      throw new Error(`the user may not create the tables: the right CREATE on the ${place} is missing`);
    }
    return;
  }
  for (const [table, privileges] of Object.entries(neededRights)) {
    const [row] = await query(
      "SELECT string_agg(one, ', ') AS missing FROM unnest($2::text[]) AS one WHERE NOT has_table_privilege($1, one)",
      [`animal_store.${table}`, privileges.split(" ")],
    );
    if (row?.["missing"] !== null) {
      throw new Error(`the user has no right to ${String(row?.["missing"])} on the table animal_store.${table}`);
    }
  }
}
