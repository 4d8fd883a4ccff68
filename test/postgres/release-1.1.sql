-- A database of release 1.1: its tables, as it made them, and rows that it left. The times are those of the test. Its
-- functions are not here: a start makes all of them anew.
CREATE SCHEMA animal_store;
CREATE TABLE animal_store.version (version int NOT NULL);
INSERT INTO animal_store.version VALUES (1);

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

UPDATE animal_store.counter SET last = 2;
INSERT INTO animal_store.pets VALUES (1, 'Rex', 1, 'available'), (2, 'Mimi', 2, 'sold');
INSERT INTO animal_store.once (hash, pet_id) VALUES ('ETEp7jBIK-j50D8fxMfzfQ', 2);
INSERT INTO animal_store.key_events VALUES
  (1, '{"event":"made","time":"2026-11-24T17:38:51.540Z","id":"key_DSKaahhYhTS0K6s","sha256":"a3f863f028a71e8cf6630ffe8cec191311e08c9166e1577c9451fde4bc38e897","plan":"free","label":"shop","crc":"07fde83a"}'),
  (2, '{"event":"made","time":"2026-11-24T17:38:51.692Z","id":"key_JEkHEnctljRWIYk","sha256":"bb846018784f9d0d2e0d9f9a83827d168cc1e3e47c4295abb0b4fb821aebedb2","plan":"pro","crc":"25ba51af"}');
INSERT INTO animal_store.limits (key_id, decided_at, minute_used, minute_ends, day_used, day_ends, ban_until, ban_ms)
  SELECT key_id, now_ms, minute_used, now_ms + 50000, 40, now_ms + 3600000, now_ms + ban_left, 300000 FROM floor(date_part('epoch', clock_timestamp()) * 1000) AS now_ms,
    (VALUES ('key_DSKaahhYhTS0K6s', 7, 0), ('key_JEkHEnctljRWIYk', 300, 250000)) AS kept(key_id, minute_used, ban_left);
