/**
 * The tables of the oldest version, and the migrations that bring them up to date. A published script never changes,
 * because a database that has run it never runs it again: a change of the tables is a new migration at the end.
 */

/** The oldest release from whose schema a start migrates, and the version of that schema. */
export const oldestRelease = "2.1";
export const oldestVersion = 4;

/**
 * The tables of the oldest version. In a database that began with release 2.0 the column `changed_to` of `once` has the
 * name `status`, and keeps it: `readChangedTo` looks.
 */
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

/**
 * Each is a text of statements that end with a semicolon. The first one follows `oldestVersion`. All functions are made
 * anew after the last one. What is new needs the rights that roles have on the others, which an administrator granted.
 */
export const migrations: readonly string[] = [
  `
-- The animals that were removed in the last 24 hours, each as it was added, as a "PetRow", for requests that are
-- repeated. It is there already if somebody went back to release 2.1 by hand.
CREATE TABLE IF NOT EXISTS animal_store.removed (
  id bigint PRIMARY KEY, added json NOT NULL, at timestamptz NOT NULL DEFAULT now()
);
-- The functions that are made after this have its body. Running instances of release 2.1 call it by the other "add".
CREATE OR REPLACE FUNCTION animal_store.add(commit_id uuid, animals json, hashes text[]) RETURNS json LANGUAGE sql
  AS 'SELECT animals';
-- They get the rights that roles have on the animals, and on the other "add".
DO $$ DECLARE one record; BEGIN
  FOR one IN
    SELECT 'ALL' AS privilege, 'animal_store.removed' AS what, relowner AS role
      FROM pg_class WHERE oid = 'animal_store.pets'::regclass
    UNION ALL SELECT privilege_type, 'animal_store.removed', grantee
      FROM pg_class, aclexplode(relacl) WHERE oid = 'animal_store.pets'::regclass
    UNION ALL SELECT privilege_type, 'FUNCTION animal_store.add(uuid, json, text[])', grantee
      FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
      WHERE oid = to_regprocedure('animal_store.add(uuid, text[], bigint[], text[], text[])')
  LOOP
    EXECUTE format('GRANT %s ON %s TO %s', one.privilege, one.what,
      CASE one.role WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(one.role)) END);
  END LOOP;
END $$;
`,
];
