/**
 * Whether the user may do what this release does. Without these questions a start would succeed, and each request fail.
 */

import type { Query } from "./database.ts";

/** An administrator may have made the schema, for a user who may not: even IF NOT EXISTS needs the right. */
export async function hasSchema(query: Query): Promise<boolean> {
  const [row] = await query("SELECT (to_regnamespace('animal_store') IS NOT NULL)::text AS found");
  return row?.["found"] === "true";
}

/** @throws {Error} the user may not use the schema, if there is one */
export async function checkUsage(query: Query): Promise<void> {
  const text = "SELECT has_schema_privilege('animal_store', 'USAGE')::text AS may_use";
  const [row] = (await hasSchema(query)) ? await query(text) : [];
  if (row?.["may_use"] === "false") {
    throw new Error("the user has no right to USAGE of the schema animal_store");
  }
}

/** @throws {Error} the user may not make the schema, or the tables in an empty one */
export async function checkMayCreate(query: Query): Promise<void> {
  const [place, text] = (await hasSchema(query))
    ? ["schema animal_store", "SELECT has_schema_privilege('animal_store', 'CREATE')::text AS may_create"]
    : ["database", "SELECT has_database_privilege(current_database(), 'CREATE')::text AS may_create"];
  const [row] = await query(text);
  if (row?.["may_create"] !== "true") {
    throw new Error(`the user may not create the tables: the right CREATE on the ${place} is missing`);
  }
}

const missingText = `
SELECT relname::text AS name, string_agg(needed, ', ') AS missing
FROM pg_class, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS needed
WHERE relnamespace = 'animal_store'::regnamespace AND relkind = 'r' AND NOT has_table_privilege(pg_class.oid, needed)
GROUP BY relname ORDER BY relname LIMIT 1`;

/** @throws {Error} naming a right that is missing on a table */
export async function checkTableRights(query: Query): Promise<void> {
  const [row] = await query(missingText);
  if (row !== undefined) {
    const table = `animal_store.${String(row["name"])}`;
    throw new Error(`the user has no right to ${String(row["missing"])} on the table ${table}`);
  }
}
