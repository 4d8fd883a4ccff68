/**
 * The tables of the oldest version, and the migrations that bring them up to date. A published script never changes,
 * because a database that has run it never runs it again: a change of the tables is a new migration at the end.
 */

import { lockMs } from "./database.ts";

/** The oldest release from whose schema a start migrates, and the version of that schema. */
export const oldestRelease = "3.0";
export const oldestVersion = 5;

/** The tables of the oldest version. In a database that began with release 2.0 the column `changed_to` is `status`. */
export const oldestTables = `
-- The publication of a logical replica asks for an identity of rows that change.
CREATE TABLE animal_store.version (version int NOT NULL);
ALTER TABLE animal_store.version REPLICA IDENTITY FULL;
INSERT INTO animal_store.version VALUES (${oldestVersion});
CREATE TABLE animal_store.counter (last bigint NOT NULL);
ALTER TABLE animal_store.counter REPLICA IDENTITY FULL;
INSERT INTO animal_store.counter VALUES (0);

-- "added" is the status that the animal was added with; null if no change of it was ever stored. A change leaves an
-- entry of the index by status behind, which lists pass over until a vacuum removes it.
CREATE TABLE animal_store.pets (
  id bigint PRIMARY KEY, name text COLLATE "C" NOT NULL, category_id bigint NOT NULL, status text COLLATE "C" NOT NULL,
  added text COLLATE "C",
  CONSTRAINT pets_id CHECK (id > 0),
  CONSTRAINT pets_status CHECK (status IN ('available', 'pending', 'sold'))
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX pets_by_status ON animal_store.pets (status, id);
COMMENT ON COLUMN animal_store.pets.status IS
  'who changes it by hand also sets added = coalesce(added, status), so that a repeated create is a replay';

-- One row for each batch of creates. "last" is null if the batch was given up.
CREATE TABLE animal_store.commits (
  id uuid PRIMARY KEY, last bigint, replays jsonb, at timestamptz NOT NULL DEFAULT now()
);

-- The idempotency hashes of the last 24 hours. "changed_to" is the status that a change was to; null for a create.
CREATE TABLE animal_store.once (
  hash text COLLATE "C" PRIMARY KEY, pet_id bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(),
  changed_to text COLLATE "C"
);

-- The animals that were removed in the last 24 hours, each as it was added, as a "PetRow", for requests that are
-- repeated.
CREATE TABLE animal_store.removed (
  id bigint PRIMARY KEY, added json NOT NULL, at timestamptz NOT NULL DEFAULT now()
);

-- The lines of keys.jsonl.
CREATE TABLE animal_store.key_events (seq bigint PRIMARY KEY, line text NOT NULL);

-- Instants are Unix milliseconds, 0 or less for never. "granted" is that of the last statement. "asked" and the quotas
-- only bring a request to "decide": a row keeps those that it was made with.
CREATE TABLE animal_store.limits (
  key_id text COLLATE "C" PRIMARY KEY,
  asked int NOT NULL DEFAULT 0, per_minute int NOT NULL DEFAULT 0, per_day int NOT NULL DEFAULT 0,
  granted int NOT NULL DEFAULT 0, decided_at bigint NOT NULL DEFAULT 0,
  minute_used int NOT NULL DEFAULT 0, minute_ends bigint NOT NULL DEFAULT 0,
  day_used int NOT NULL DEFAULT 0, day_ends bigint NOT NULL DEFAULT 0,
  refusals int NOT NULL DEFAULT 0, second_ends bigint NOT NULL DEFAULT 0,
  ban_until bigint NOT NULL DEFAULT 0, ban_ms bigint NOT NULL DEFAULT 0,
  last_at bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
`;

/** How long a migration tries to lock tables, and for how long others wait behind a try. */
const [tablesSeconds, tryMs, pauseSeconds] = [10, 100, 0.2];

/**
 * Locks tables in use. The first lock holds up nobody, and ends an autovacuum. Then the row of the counter is locked,
 * as by each function that changes animals: so none has one table, and waits for another.
 */
const lockTables = (tables: string): string => `
DO $$ DECLARE ends timestamptz := clock_timestamp() + interval '${tablesSeconds} s'; BEGIN
  LOOP
    BEGIN
      SET LOCAL lock_timeout = '3s';
      LOCK TABLE ${tables} IN SHARE UPDATE EXCLUSIVE MODE;
      SET LOCAL lock_timeout = ${tryMs};
      PERFORM FROM animal_store.counter FOR UPDATE;
      LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE;
      SET LOCAL lock_timeout = ${lockMs};
      RETURN;
    EXCEPTION WHEN lock_not_available THEN
      IF clock_timestamp() > ends THEN
        RAISE EXCEPTION 'the schema has to be migrated, but % uses its tables: start again when it has ended',
          'a long transaction, such as that of pg_dump,';
      END IF;
    END;
    PERFORM pg_sleep(${pauseSeconds});
  END LOOP;
END $$;
`;

/** The SQL that gives a function the rights that roles have on another one, which an administrator granted. */
const grantAs = (name: string, as: string): string => `
DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT grantee FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
    WHERE oid = to_regprocedure('animal_store.${as}')
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION animal_store.${name} TO %s',
      CASE one.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(one.grantee)) END);
  END LOOP;
END $$;
`;

/**
 * Each is a text of statements that end with a semicolon. The first one follows `oldestVersion`. All functions are made
 * anew after the last one. What is new needs the rights that roles have on the others. Each may run again, because
 * somebody may have gone back to the release before by hand.
 */
export const migrations: readonly string[] = [
  `${lockTables("animal_store.once, animal_store.pets")}
-- "original" is the animal as it was added, as a "PetRow"; null if it was never corrected.
ALTER TABLE animal_store.pets
  ADD COLUMN IF NOT EXISTS version int NOT NULL DEFAULT 1, ADD COLUMN IF NOT EXISTS original jsonb;
COMMENT ON COLUMN animal_store.pets.status IS NULL;
-- "result" is what the change made of the animal, as a "ResultRow". "changed_to" is there already, but in a database
-- that began with release 2.0.
ALTER TABLE animal_store.once
  ADD COLUMN IF NOT EXISTS changed_to text COLLATE "C", ADD COLUMN IF NOT EXISTS result jsonb;
-- The functions that are made after this have its body.
CREATE OR REPLACE FUNCTION animal_store.note_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE OR REPLACE TRIGGER note_change BEFORE UPDATE ON animal_store.pets FOR EACH ROW
  WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION animal_store.note_change();
CREATE OR REPLACE FUNCTION animal_store.change(
  commit_id uuid, ids bigint[], changes json[], matches text[], none_matches text[], hashes text[]
) RETURNS json LANGUAGE sql AS 'SELECT changes[1]';
CREATE OR REPLACE FUNCTION animal_store.list(afters bigint[], lengths int[], wanteds text[], categories bigint[])
  RETURNS json LANGUAGE sql AS 'SELECT NULL::json';
${grantAs(
  "change(uuid, bigint[], json[], text[], text[], text[])",
  "change_statuses(uuid, bigint[], text[], text[], text[])",
)}
${grantAs("list(bigint[], int[], text[], bigint[])", "list(bigint[], int[], text[])")}
`,
];
