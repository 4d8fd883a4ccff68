/**
 * The schema `animal_store`, made and migrated by the instance that starts first.
 *
 * A migration never changes once it is published, nor does the text of the other files that is part of it: what changes
 * a function is a new migration. One that is added must leave the instances working that still run the release before.
 * None may alter the table `version`: starts that wait for the migration have read it.
 */

import { addFunctions } from "./add-pets-sql.ts";
import { type Database, lockMs, type Query } from "./database.ts";
import { boundWaits, durableCommit, indexPlans } from "./function-parts.ts";
import { decideFunction, takeFunction } from "./limits-sql.ts";
import { purgeFunction } from "./purge.ts";
import { readFunctions } from "./read-pets-sql.ts";
import { checkMayCreate, checkTables, checkUsage, hasSchema } from "./rights.ts";

/** Migration n makes version n of n - 1. */
export const migrations: readonly string[] = [
  `
-- The publication of a logical replica asks for an identity of rows that change.
ALTER TABLE animal_store.version REPLICA IDENTITY FULL;
CREATE TABLE animal_store.counter (last bigint NOT NULL);
ALTER TABLE animal_store.counter REPLICA IDENTITY FULL;
INSERT INTO animal_store.counter VALUES (0);

CREATE TABLE animal_store.pets (
  id bigint PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  category_id bigint NOT NULL,
  status text COLLATE "C" NOT NULL
);
CREATE INDEX pets_by_status ON animal_store.pets (status, id);

-- One row for each batch of creates. "last" is null if the batch was given up.
CREATE TABLE animal_store.commits (
  id uuid PRIMARY KEY,
  last bigint,
  replays jsonb,
  at timestamptz NOT NULL DEFAULT now()
);

-- The idempotency hashes of the last 24 hours.
CREATE TABLE animal_store.once (
  hash text COLLATE "C" PRIMARY KEY,
  pet_id bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);

-- The lines of keys.jsonl.
CREATE TABLE animal_store.key_events (seq bigint PRIMARY KEY, line text NOT NULL);

-- Fails on a replica as a write does, although nothing is written.
CREATE FUNCTION animal_store.key_events_after(after bigint, count int) RETURNS TABLE (seq bigint, line text)
LANGUAGE plpgsql ${indexPlans} AS $$
#variable_conflict use_column
BEGIN
  IF current_setting('transaction_read_only') = 'on' THEN
    RAISE read_only_sql_transaction USING MESSAGE = 'the database is a replica or read-only';
  END IF;
  ${boundWaits}
  RETURN QUERY SELECT * FROM animal_store.key_events WHERE seq > after ORDER BY seq LIMIT count;
END $$;

-- Appends the event with that number, which was decided on the event before it. Returns false if that is another one,
-- or if somebody else has taken the number. Unbanning takes effect in the same transaction, so it ends no later ban.
CREATE FUNCTION animal_store.append_key_event(seq bigint, line text, unbanned_id text, before text) RETURNS boolean
LANGUAGE plpgsql ${indexPlans} AS $$
DECLARE
  now_ms bigint;
BEGIN
  ${boundWaits}
  PERFORM ${durableCommit};
  INSERT INTO animal_store.key_events
    SELECT append_key_event.seq, append_key_event.line
    WHERE before IS NULL OR EXISTS (
      SELECT FROM animal_store.key_events AS last WHERE last.seq = append_key_event.seq - 1 AND last.line = before
    )
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF unbanned_id IS NOT NULL THEN
    PERFORM FROM animal_store.limits WHERE key_id = unbanned_id FOR UPDATE; -- The clock is read after it.
    now_ms := animal_store.clock_ms();
    UPDATE animal_store.limits
      SET refusals = 0, ban_until = least(ban_until, now_ms), decided_at = greatest(decided_at, now_ms)
      WHERE key_id = unbanned_id;
  END IF;
  RETURN true;
END $$;

-- Instants are Unix milliseconds, 0 or less for never. "granted" is that of the last statement. "asked" and the quotas
-- only bring a request to "decide": a row keeps those that it was made with.
CREATE TABLE animal_store.limits (
  key_id text COLLATE "C" PRIMARY KEY,
  asked int NOT NULL DEFAULT 0,
  per_minute int NOT NULL DEFAULT 0,
  per_day int NOT NULL DEFAULT 0,
  granted int NOT NULL DEFAULT 0,
  decided_at bigint NOT NULL DEFAULT 0,
  minute_used int NOT NULL DEFAULT 0,
  minute_ends bigint NOT NULL DEFAULT 0,
  day_used int NOT NULL DEFAULT 0,
  day_ends bigint NOT NULL DEFAULT 0,
  refusals int NOT NULL DEFAULT 0,
  second_ends bigint NOT NULL DEFAULT 0,
  ban_until bigint NOT NULL DEFAULT 0,
  ban_ms bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE FUNCTION animal_store.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint $$;
${decideFunction}
${takeFunction}
${addFunctions}
${readFunctions}
${purgeFunction}
`,
];

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
    await checkTables(query);
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
  for (const migration of migrations.slice(version)) {
    await query(migration, [], migrationMs);
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

/** Asks for texts, because an embedder may have changed how its client reads other types. @throws {Error} */
export async function checkSession(query: Query): Promise<void> {
  const [row] = await query(
    "SELECT current_setting('transaction_isolation') AS isolation, " +
      "current_setting('transaction_read_only') AS read_only, current_setting('server_encoding') AS encoding, " +
      "current_setting('array_nulls') AS array_nulls",
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
  if (row?.["array_nulls"] !== "on") {
    throw new Error(`array_nulls is ${String(row?.["array_nulls"])}: it must be on`);
  }
}
