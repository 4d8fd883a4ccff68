/** Migration n makes version n of n - 1. It is published, so it never changes. A later one is added at the end. */
export const migrations: readonly string[] = [
  // The tables of release 1.1.
  `
-- The publication of a logical replica asks for an identity of rows that change.
ALTER TABLE animal_store.version REPLICA IDENTITY FULL;
CREATE TABLE animal_store.counter (last bigint NOT NULL);
ALTER TABLE animal_store.counter REPLICA IDENTITY FULL;
INSERT INTO animal_store.counter VALUES (0);

CREATE TABLE animal_store.pets (
  id bigint PRIMARY KEY, name text COLLATE "C" NOT NULL, category_id bigint NOT NULL, status text COLLATE "C" NOT NULL
);
CREATE INDEX pets_by_status ON animal_store.pets (status, id);

-- One row for each batch of creates. "last" is null if the batch was given up.
CREATE TABLE animal_store.commits (
  id uuid PRIMARY KEY, last bigint, replays jsonb, at timestamptz NOT NULL DEFAULT now()
);

-- The idempotency hashes of the last 24 hours.
CREATE TABLE animal_store.once (
  hash text COLLATE "C" PRIMARY KEY, pet_id bigint NOT NULL, at timestamptz NOT NULL DEFAULT now()
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
  ban_until bigint NOT NULL DEFAULT 0, ban_ms bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
`,
  // The time of a key's last request, and the functions of release 1.2.
  `
ALTER TABLE animal_store.limits ADD COLUMN last_at bigint NOT NULL DEFAULT 0;
`,
  // Animals may change their status. Release 2.0 named the second column `status`, which the functions of release 1.2
  // use for another one: those under way failed. A database that 2.0 migrated keeps that name.
  `
-- The status that the animal was added with; null if no change of it was ever kept. Who changes a status by hand sets
-- it likewise: SET status = 'sold', added = coalesce(added, status). Else a repeated create is no replay.
ALTER TABLE animal_store.pets ADD COLUMN added text COLLATE "C";

-- A change leaves an entry of the index by status behind, which lists pass over until a vacuum removes it.
ALTER TABLE animal_store.pets SET (autovacuum_vacuum_scale_factor = 0.02);

-- Of a change, the status that it was to; null for a create.
ALTER TABLE animal_store.once ADD COLUMN changed_to text COLLATE "C";
`,
  // What is written by hand is checked from now on. With the functions of release 2.1.
  `
ALTER TABLE animal_store.pets
  ADD CONSTRAINT pets_id CHECK (id > 0) NOT VALID,
  ADD CONSTRAINT pets_status CHECK (status IN ('available', 'pending', 'sold')) NOT VALID;
COMMENT ON COLUMN animal_store.pets.status IS
  'who changes it by hand also sets added = coalesce(added, status), so that a repeated create is a replay';
`,
];
