-- A database of release 2.0: its schema, as that release makes it, and rows that it left.
CREATE SCHEMA animal_store;
CREATE TABLE animal_store.version (version int NOT NULL);
INSERT INTO animal_store.version VALUES (3);

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

ALTER TABLE animal_store.limits ADD COLUMN last_at bigint NOT NULL DEFAULT 0;

-- The status that the animal was added with; null if no change of it was ever kept.
ALTER TABLE animal_store.pets ADD COLUMN added text COLLATE "C";

-- A change leaves an entry of the index by status behind, which lists pass over until a vacuum removes it.
ALTER TABLE animal_store.pets SET (autovacuum_vacuum_scale_factor = 0.02);

-- Of a change, the status that it was to; null for a create.
ALTER TABLE animal_store.once ADD COLUMN status text COLLATE "C";

CREATE OR REPLACE FUNCTION animal_store.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint $$;

-- Fails on a replica as a write does, although nothing is written.
CREATE OR REPLACE FUNCTION animal_store.key_events_after(after bigint, count int)
RETURNS TABLE (seq bigint, line text) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
  IF current_setting('transaction_read_only') = 'on' THEN
    RAISE read_only_sql_transaction USING MESSAGE = 'the database is a replica or read-only';
  END IF;
  PERFORM set_config('lock_timeout', '2s', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL;
  RETURN QUERY SELECT * FROM animal_store.key_events WHERE seq > after ORDER BY seq LIMIT count;
END $$;

-- Returns false if somebody else has taken the number, or the event before it is not the one it was decided on. An
-- unban or a reset takes effect in the same transaction, so it ends no later ban and gives back no later request.
CREATE OR REPLACE FUNCTION animal_store.append_key_event(seq bigint, line text, unbanned_id text, before text)
RETURNS boolean LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE now_ms bigint; BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL; PERFORM set_config('client_min_messages', 'warning', true),
  set_config('synchronous_commit', coalesce(substring(current_setting('synchronous_commit'), 'remote.*'), 'on'), true);
  INSERT INTO animal_store.key_events
    SELECT append_key_event.seq, append_key_event.line
    WHERE before IS NULL OR EXISTS (
      SELECT FROM animal_store.key_events AS last WHERE last.seq = append_key_event.seq - 1 AND last.line = before
    )
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;
  IF line::json ->> 'event' = 'reset' THEN
    UPDATE animal_store.limits SET minute_ends = 0, day_ends = 0, ban_until = 0, ban_ms = 0 WHERE key_id = unbanned_id;
  ELSIF unbanned_id IS NOT NULL THEN
    PERFORM FROM animal_store.limits WHERE key_id = unbanned_id FOR UPDATE; -- The clock is read after it.
    now_ms := animal_store.clock_ms();
    UPDATE animal_store.limits
      SET refusals = 0, ban_until = least(ban_until, now_ms), decided_at = greatest(decided_at, now_ms)
      WHERE key_id = unbanned_id;
  END IF;
  RETURN true;
END $$;

-- Decides requests of one key at one instant: the first "granted" are served. As limits/bucket.ts and limits/ban.ts.
CREATE OR REPLACE FUNCTION animal_store.decide(
  l animal_store.limits, asked int, per_minute int, per_day int, now_ms bigint
) RETURNS animal_store.limits LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
  -- A clock that is set back, as by a failover, takes all instants with it, so that nothing lasts longer.
  IF now_ms < l.decided_at THEN
    l.minute_ends := l.minute_ends - (l.decided_at - now_ms);
    l.day_ends := l.day_ends - (l.decided_at - now_ms);
    l.second_ends := l.second_ends - (l.decided_at - now_ms);
    l.ban_until := l.ban_until - (l.decided_at - now_ms);
  END IF;
  l.decided_at := now_ms;
  IF asked > 0 THEN l.last_at := now_ms; END IF;
  IF l.minute_ends <= now_ms THEN l.minute_used := 0; END IF;
  IF l.day_ends <= now_ms THEN l.day_used := 0; END IF;

  l.granted := CASE WHEN l.ban_until <= now_ms
    THEN greatest(0, least(asked, per_minute - l.minute_used, per_day - l.day_used)) ELSE 0 END;
  IF l.granted > 0 THEN
    IF l.minute_ends <= now_ms THEN l.minute_ends := now_ms + 60000; END IF;
    IF l.day_ends <= now_ms THEN l.day_ends := now_ms + 86400000; END IF;
    l.minute_used := l.minute_used + l.granted;
    l.day_used := l.day_used + l.granted;
    l.refusals := 0;
  END IF;

  -- The refusals of one instant count as one.
  IF l.granted < asked AND l.ban_until <= now_ms THEN
    IF l.refusals = 0 THEN l.second_ends := now_ms; END IF;
    IF now_ms >= l.second_ends THEN
      l.second_ends := l.second_ends + 1000 * ((now_ms - l.second_ends) / 1000 + 1);
      l.refusals := l.refusals + 1;
    END IF;
    IF l.refusals >= 10 THEN
      l.ban_ms := CASE WHEN now_ms <= l.ban_until + 86400000
        THEN least(2 * l.ban_ms, 3600000) ELSE 300000 END;
      l.ban_until := now_ms + l.ban_ms;
      l.refusals := 0;
    END IF;
  END IF;
  RETURN l;
END $$;

-- Returns for each key how many requests were granted, when, and its limits. A key without a row gets one, which has
-- decided nothing: its instant is 0. Rows are locked in the order of the keys, so that two batches cannot wait for each
-- other. The clock is read once a row is locked, so it never runs backwards for a key. A crash may forget the last
-- moments of the limits, in exchange for not waiting for the disk.
CREATE OR REPLACE FUNCTION animal_store.take(key_ids text[], asked int[], per_minute int[], per_day int[])
RETURNS json LANGUAGE plpgsql AS $$
DECLARE answer json; BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL;
  PERFORM set_config('synchronous_commit', 'off', true);
  WITH decided AS (
    INSERT INTO animal_store.limits AS held (key_id, asked, per_minute, per_day)
    SELECT * FROM unnest(key_ids, asked, per_minute, per_day) AS one(key_id, asked, per_minute, per_day)
    ORDER BY one.key_id
    ON CONFLICT (key_id) DO UPDATE SET (granted, decided_at, minute_used, minute_ends, day_used, day_ends, refusals, second_ends, ban_until, ban_ms, last_at) = (
      SELECT (l).granted, (l).decided_at, (l).minute_used, (l).minute_ends, (l).day_used, (l).day_ends, (l).refusals, (l).second_ends, (l).ban_until, (l).ban_ms, (l).last_at
      FROM ( -- Called in FROM, it took 2 to 9 % longer.
        SELECT animal_store.decide(
          held, excluded.asked, excluded.per_minute, excluded.per_day, animal_store.clock_ms()
        ) AS l
        OFFSET 0 -- Keeps it from being run for each column.
      ) AS new
    )
    RETURNING held.*
  )
  SELECT json_build_object('keys', json_agg(key_id), 'limits', json_agg(ARRAY[granted, decided_at, minute_used, minute_ends, day_used, day_ends, refusals, second_ends, ban_until, ban_ms, last_at])) INTO answer FROM decided;
  RETURN answer;
END $$;

-- Removes what has no effect any more, from a piece of each table, and returns the number of blocks of the largest one.
-- Batches are decided within seconds, and commits kept for an hour.
CREATE OR REPLACE FUNCTION animal_store.purge(first_block bigint, end_block bigint)
RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL;
  DELETE FROM animal_store.commits WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM animal_store.commits
    WHERE ctid >= format('(%s,0)', first_block)::tid AND ctid < format('(%s,0)', end_block)::tid AND at < now() - interval '1 hour'
    FOR UPDATE SKIP LOCKED
  ));
  DELETE FROM animal_store.once WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM animal_store.once
    WHERE ctid >= format('(%s,0)', first_block)::tid AND ctid < format('(%s,0)', end_block)::tid AND at < now() - interval '24 hours'
    FOR UPDATE SKIP LOCKED
  ));
  DELETE FROM animal_store.limits WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM animal_store.limits
    WHERE ctid >= format('(%s,0)', first_block)::tid AND ctid < format('(%s,0)', end_block)::tid AND greatest(minute_ends, day_ends, last_at + 86400000, ban_until + 86400000)
    < animal_store.clock_ms()
    FOR UPDATE SKIP LOCKED
  ));
  RETURN greatest(
    pg_relation_size('animal_store.commits'), pg_relation_size('animal_store.once'),
    pg_relation_size('animal_store.limits')
  ) / current_setting('block_size')::int;
END $$;

-- Returns the last id and, as "replays", the animals that earlier creates with the same hashes had added, by their
-- places in the batch, from 1. "commits" keeps the same, for those that lose the answer. The counter's row stays locked
-- until the commit. So ids have no gaps, readers see them in order, and each batch sees every earlier one.
CREATE OR REPLACE FUNCTION animal_store.add(
  commit_id uuid, names text[], category_ids bigint[], statuses text[], hashes text[]
) RETURNS json LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE last_id bigint; replayed jsonb; BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL; PERFORM set_config('client_min_messages', 'warning', true),
  set_config('synchronous_commit', coalesce(substring(current_setting('synchronous_commit'), 'remote.*'), 'on'), true);
  SELECT last INTO STRICT last_id FROM animal_store.counter FOR UPDATE;

  IF cardinality(array_remove(hashes, NULL)) > 0 THEN
    DELETE FROM animal_store.once
      WHERE hash = ANY (hashes) AND (at < now() - interval '24 hours'
        OR NOT EXISTS (SELECT FROM animal_store.pets WHERE id = pet_id)); -- Somebody deleted the animal.
    SELECT jsonb_object_agg(place, json_build_array(
      pet.id, name, category_id::text, CASE WHEN once.status IS NULL THEN coalesce(added, pet.status) ELSE '' END
    ))
      INTO replayed
      FROM unnest(hashes) WITH ORDINALITY AS item(hash, place)
      JOIN animal_store.once USING (hash)
      JOIN animal_store.pets AS pet ON pet.id = pet_id;
    IF replayed IS NOT NULL THEN
      SELECT array_agg(name ORDER BY place), array_agg(category_id ORDER BY place),
          array_agg(status ORDER BY place), array_agg(hash ORDER BY place)
        INTO names, category_ids, statuses, hashes
        FROM unnest(names, category_ids, statuses, hashes) WITH ORDINALITY
          AS item(name, category_id, status, hash, place)
        WHERE NOT replayed ? place::text;
    END IF;
    INSERT INTO animal_store.once (hash, pet_id)
      SELECT hash, last_id + place FROM unnest(hashes) WITH ORDINALITY AS item(hash, place) WHERE hash IS NOT NULL;
  END IF;

  INSERT INTO animal_store.pets (id, name, category_id, status)
    SELECT last_id + place, name, category_id, status
    FROM unnest(names, category_ids, statuses) WITH ORDINALITY AS item(name, category_id, status, place);
  last_id := last_id + coalesce(cardinality(names), 0);
  UPDATE animal_store.counter SET last = last_id;
  INSERT INTO animal_store.commits (id, last, replays) VALUES (commit_id, last_id, replayed);
  RETURN json_build_object('last', last_id, 'replays', replayed);
END $$;

-- Changes statuses, one after the other. Returns the last id and, as "replays", what came of those that it did not
-- change: "replay", "conflict", "absent", or the status that is none of those in "froms", which spaces separate. The
-- hashes are those of "add".
CREATE OR REPLACE FUNCTION animal_store.change_statuses(
  commit_id uuid, ids bigint[], statuses text[], froms text[], hashes text[]
) RETURNS json LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
  last_id bigint; pet animal_store.pets; earlier animal_store.once; verdict text; verdicts jsonb;
BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL; PERFORM set_config('client_min_messages', 'warning', true),
  set_config('synchronous_commit', coalesce(substring(current_setting('synchronous_commit'), 'remote.*'), 'on'), true);
  SELECT last INTO STRICT last_id FROM animal_store.counter FOR UPDATE;
  FOR place IN 1 .. cardinality(ids) LOOP
    SELECT * INTO pet FROM animal_store.pets WHERE id = ids[place];
    SELECT once.* INTO earlier FROM animal_store.once JOIN animal_store.pets ON pets.id = pet_id
      WHERE hash = hashes[place] AND at >= now() - interval '24 hours';
    verdict := CASE
      WHEN pet.id IS NULL THEN 'absent'
      WHEN earlier.pet_id = pet.id AND earlier.status = statuses[place] THEN 'replay'
      WHEN earlier.hash IS NOT NULL THEN 'conflict'
      WHEN pet.status = ANY (string_to_array(froms[place], ' ')) THEN NULL
      ELSE pet.status
    END;
    IF verdict IS NOT NULL THEN
      verdicts := coalesce(verdicts, '{}') || jsonb_build_object(place, verdict);
      CONTINUE;
    END IF;
    UPDATE animal_store.pets SET status = statuses[place], added = coalesce(added, status)
      WHERE id = pet.id AND (status <> statuses[place] OR hashes[place] IS NOT NULL);
    INSERT INTO animal_store.once AS known (hash, pet_id, status)
      SELECT hashes[place], pet.id, statuses[place] WHERE hashes[place] IS NOT NULL
      ON CONFLICT (hash) DO UPDATE SET pet_id = excluded.pet_id, status = excluded.status, at = excluded.at;
  END LOOP;
  INSERT INTO animal_store.commits (id, last, replays) VALUES (commit_id, last_id, verdicts);
  RETURN json_build_object('last', last_id, 'replays', verdicts);
END $$;

-- Returns the same for a batch that was stored. Any other one is given up: "last" is null, and it never will be stored.
CREATE OR REPLACE FUNCTION animal_store.decide_commit(commit_id uuid) RETURNS json LANGUAGE plpgsql AS $$
DECLARE answer json; BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL; PERFORM set_config('client_min_messages', 'warning', true),
  set_config('synchronous_commit', coalesce(substring(current_setting('synchronous_commit'), 'remote.*'), 'on'), true);
  INSERT INTO animal_store.commits AS known (id) VALUES (commit_id)
    ON CONFLICT (id) DO UPDATE SET at = known.at
    RETURNING json_build_object('last', last, 'replays', replays) INTO answer;
  RETURN answer;
END $$;

CREATE OR REPLACE FUNCTION animal_store.get(ids bigint[]) RETURNS json LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$ BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL;
  RETURN (SELECT json_agg(json_build_array(pet.id, name, category_id::text, status)) FROM animal_store.pets AS pet WHERE id = ANY (ids));
END $$;

-- A page for each query: one of the two branches, read from its index from "after" on, up to "length".
CREATE OR REPLACE FUNCTION animal_store.list(afters bigint[], lengths int[], wanteds text[])
RETURNS json LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$ BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL;
  -- Pairs are compared so that the second branch can only be read from the index by status.
  RETURN (
    SELECT json_agg(page ORDER BY place)
    FROM unnest(afters, lengths, wanteds) WITH ORDINALITY AS query(after, length, wanted, place),
      LATERAL (
        SELECT json_agg(json_build_array(pet.id, name, category_id::text, status) ORDER BY pet.id) AS page
        FROM (
          (SELECT * FROM animal_store.pets WHERE wanted IS NULL AND id > after ORDER BY id LIMIT length)
          UNION ALL
          (SELECT * FROM animal_store.pets WHERE (status, id) > (wanted, after) AND status <= wanted
            ORDER BY status, id LIMIT length)
        ) AS pet
      ) AS found
  );
END $$;

UPDATE animal_store.counter SET last = 2;
INSERT INTO animal_store.pets VALUES (1, 'Rex', 1, 'pending', 'available'), (2, 'Mimi', 2, 'sold', NULL);
INSERT INTO animal_store.once (hash, pet_id, status)
  VALUES ('0123456789abcdefghijkl', 2, NULL), ('lkjihgfedcba9876543210', 1, 'pending');
INSERT INTO animal_store.key_events VALUES
  (1, '{"event":"made","time":"2026-11-24T17:38:51.540Z","id":"key_DSKaahhYhTS0K6s","sha256":"a3f863f028a71e8cf6630ffe8cec191311e08c9166e1577c9451fde4bc38e897","plan":"free","label":"shop","crc":"07fde83a"}'),
  (2, '{"event":"made","time":"2026-11-24T17:38:51.692Z","id":"key_JEkHEnctljRWIYk","sha256":"bb846018784f9d0d2e0d9f9a83827d168cc1e3e47c4295abb0b4fb821aebedb2","plan":"pro","crc":"25ba51af"}');
