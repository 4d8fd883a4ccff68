/** How a migration gets the tables that it alters, without holding up those who use them. */

import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";

import { sqlState } from "./database-error.ts";
import { lockMs, type Query } from "./database.ts";

/** How long a migration waits for a transaction that uses the tables, as that of `pg_dump`. */
const holderMs = 2_500;
/** Then it takes the tables: whoever comes meanwhile waits as long, at most. */
const tablesMs = 1_000;

/** The transactions of others that use what a migration alters. Who looks twice sees which last. */
const holdersText = `
SELECT virtualtransaction AS transaction, relname AS table, pid::text AS pid,
  coalesce(nullif(application_name, ''), 'a program') AS name
FROM pg_locks JOIN pg_class ON pg_class.oid = relation LEFT JOIN pg_stat_activity USING (pid)
WHERE relnamespace = 'animal_store'::regnamespace AND relname IN ('pets', 'once')
  AND granted AND pid <> pg_backend_pid()`;

/**
 * Locks the tables that a migration alters. Everybody who comes later waits behind it, so it begins once no transaction
 * lasts that would hold it up. Adds and changes lock the counter first, and then the tables in either order.
 * @throws {Error} who uses them
 */
export async function lockTables(query: Query): Promise<void> {
  const endMs = performance.now() + holderMs;
  let lasting = await query(holdersText);
  while (lasting.length > 0 && performance.now() < endMs) {
    await delay(50);
    const present = new Set((await query(holdersText)).map(({ transaction }) => transaction));
    lasting = lasting.filter(({ transaction }) => present.has(transaction));
  }
  const [owner] = lasting;
  if (owner !== undefined) {
    const who = `${String(owner["name"])} (process ${String(owner["pid"])} of the database)`;
    const what = `uses the table animal_store.${String(owner["table"])} in a long transaction`;
    throw new Error(`the schema has to be migrated, but ${who} ${what}: start again when that has ended`);
  }
  await query(`SET LOCAL lock_timeout = ${tablesMs}`);
  try {
    await query("SELECT FROM animal_store.counter FOR UPDATE");
    await query("LOCK TABLE animal_store.once, animal_store.pets IN ACCESS EXCLUSIVE MODE");
  } catch (error) {
    const isWait = error instanceof Error && sqlState(error.cause) === "55P03";
    const reason = "the schema has to be migrated, but others use its tables all the time: start again later";
    throw isWait ? new Error(reason, { cause: error }) : error;
  }
  await query(`SET LOCAL lock_timeout = ${lockMs}`);
}
