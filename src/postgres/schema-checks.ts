/** Checks whether a database and its schema can serve this release, so that not each request fails. Changes nothing. */

import type { Query } from "./database.ts";
import { oldestRelease, oldestVersion } from "./migrations.ts";

const keyedTables = ["commits", "key_events", "limits", "once", "pets", "removed"];
/** All tables. Those that are not in `keyedTables` have one row and no primary key. */
const tables = [...keyedTables, "counter", "version"];

/** @throws {Error} the server is not PostgreSQL, is a replica, or has a wrong setting */
export async function checkSession(query: Query): Promise<void> {
  const [server] = await query("SELECT version() AS version");
  const version = String(server?.["version"]);
  // Other servers speak PostgreSQL's protocol, but each of their nodes has its own clock, so quotas would not hold.
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
    // A name that another encoding cannot hold would fail every animal of its batch.
    throw new Error(`the encoding of the database is ${String(row?.["encoding"])}: it must be UTF8`);
  }
}

/**
 * Returns the version of the schema; 0 if there is no schema, or an empty one.
 * @throws {Error} the schema cannot be used, or its version is older than we migrate or higher than `max`
 */
export async function readVersion(query: Query, max: number): Promise<number> {
  if (!(await holds(query, "EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('animal_store'))"))) {
    return 0;
  }
  const isThere = await holds(query, "to_regclass('animal_store.version') IS NOT NULL");
  const rows = isThere ? await query("SELECT version FROM animal_store.version") : [];
  const version = Number(rows[0]?.["version"]);
  if (rows.length !== 1 || !(version >= 1)) {
    const found = rows.length > 1 ? `${rows.length} versions, as after a restore into full tables` : "no version";
    throw new Error(`the schema animal_store is damaged, or not made by this program: it has ${found}`);
  }
  if (version < oldestVersion) {
    const advice = `start release ${oldestRelease} on it once, which migrates it`;
    throw new Error(`the schema animal_store has version ${version}, of a release before ${oldestRelease}: ${advice}`);
  }
  if (version > max) {
    const known = `this release knows ${max}: a newer release made it`;
    throw new Error(`the schema animal_store has version ${version}, ${known}`);
  }
  return version;
}

/** Finds a table without its primary key, which a restore makes last. */
const unkeyedText = `
SELECT name FROM unnest($1::text[]) AS name WHERE NOT EXISTS (
  SELECT FROM pg_index WHERE indrelid = to_regclass('animal_store.' || name) AND indisprimary AND indisvalid
) ORDER BY name LIMIT 1`;

/**
 * PostgreSQL itself says which table is missing, may not be read, or has row security, which could hide rows. Any other
 * right that is missing fails the first statement that needs it. But without a primary key hashes would be stored
 * twice, and without the counter ids would be given twice.
 * @throws {Error} a table cannot be used; it is named
 */
export async function checkTables(query: Query): Promise<void> {
  const reads = tables.map((name) => `SELECT 1 FROM animal_store.${name} WHERE false`);
  await query(reads.join(" UNION ALL "));
  const [unkeyed] = await query(unkeyedText, [keyedTables]);
  if (unkeyed !== undefined) {
    const table = `the table animal_store.${String(unkeyed["name"])}`;
    throw new Error(`${table} has no valid primary key: a restore is under way, or has not reached its end`);
  }
  const lastId = "(SELECT coalesce(max(id), 0) FROM animal_store.pets)";
  if (!(await holds(query, `SELECT count(*) = 1 AND max(last) >= ${lastId} FROM animal_store.counter`))) {
    throw new Error("the table animal_store.counter is damaged: it must have one row, with the last id");
  }
}

/** Whether the condition is true. Asks for a text: an embedder may have changed how its client reads other types. */
export async function holds(query: Query, condition: string): Promise<boolean> {
  const [row] = await query(`SELECT (${condition})::text AS answer`);
  return row?.["answer"] === "true";
}
