/**
 * Whether the user may do what this release does. Otherwise a start would succeed, and each request fail.
 */

import type { Query } from "./database.ts";
import { functions } from "./functions.ts";

/** An administrator may have made the schema, for a user who may not: even IF NOT EXISTS needs the right. */
export async function hasSchema(query: Query): Promise<boolean> {
  const [row] = await query("SELECT (to_regnamespace('animal_store') IS NOT NULL)::text AS found");
  return row?.["found"] === "true";
}

/** @throws {Error} the user may not use the schema, if there is one */
export async function checkUsage(query: Query): Promise<void> {
  const [row] = await query("SELECT has_schema_privilege(to_regnamespace('animal_store'), 'USAGE')::text AS may_use");
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

const tables = ["commits", "counter", "key_events", "limits", "once", "pets", "version"];

/** A table that is missing lacks every right. */
const missingText = `
SELECT name, (to_regclass('animal_store.' || name) IS NULL)::text AS is_missing, string_agg(needed, ', ') AS rights
FROM unnest($1::text[]) AS name, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS needed
WHERE has_table_privilege(to_regclass('animal_store.' || name), needed) IS NOT TRUE
GROUP BY name ORDER BY name LIMIT 1`;

const functionNames = Array.from(functions.matchAll(/FUNCTION animal_store\.(\w+)/g), ([, name]) => name);

const missingFunctionText = `
SELECT name FROM unnest($1::text[]) AS name WHERE NOT EXISTS (
  SELECT FROM pg_proc
  WHERE pronamespace = 'animal_store'::regnamespace AND proname = name AND has_function_privilege(oid, 'EXECUTE')
) LIMIT 1`;

/** @throws {Error} naming a table, a function or a right that is missing, or the counter if it is damaged */
export async function checkSchema(query: Query): Promise<void> {
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
  const [counter] = await query(
    "SELECT (count(*) = 1)::text AS is_one, " +
      "(max(last) >= (SELECT coalesce(max(id), 0) FROM animal_store.pets))::text AS is_last FROM animal_store.counter",
  );
  if (counter?.["is_one"] !== "true" || counter["is_last"] !== "true") {
    throw new Error("the table animal_store.counter is damaged: it must have one row, with the last id");
  }
}
