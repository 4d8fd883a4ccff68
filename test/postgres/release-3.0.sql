-- A database that release 3.0 made and used, as pg_dump writes it, but for comments and blank lines; instants are set to now.
SET check_function_bodies = false;
CREATE SCHEMA animal_store;
CREATE FUNCTION animal_store.add(commit_id uuid, animals json, hashes text[]) RETURNS json
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE last_id bigint; replayed jsonb; BEGIN
  PERFORM set_config('lock_timeout', '2s', true), set_config('row_security', 'off', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL; PERFORM set_config('client_min_messages', 'warning', true),
  set_config('synchronous_commit', coalesce(substring(current_setting('synchronous_commit'), 'remote.*'), 'on'), true);
  SELECT last INTO STRICT last_id FROM animal_store.counter FOR UPDATE;

  IF cardinality(array_remove(hashes, NULL)) > 0 THEN
    DELETE FROM animal_store.once
      WHERE hash = ANY (hashes) AND (at < now() - interval '24 hours' OR NOT (coalesce((SELECT id FROM animal_store.pets WHERE id = pet_id),
        (SELECT id FROM animal_store.removed WHERE id = pet_id)) IS NOT NULL));
    SELECT jsonb_object_agg(place, CASE
        WHEN once.changed_to IS NOT NULL THEN json_build_array(pet_id, '', '0', '')
        WHEN pet.id IS NULL THEN removed.added
        ELSE json_build_array(pet.id, pet.name, pet.category_id::text, coalesce(pet.added, pet.status)) END)
      INTO replayed
      FROM unnest(hashes) WITH ORDINALITY AS item(hash, place)
      JOIN animal_store.once USING (hash)
      LEFT JOIN animal_store.pets AS pet ON pet.id = pet_id
      LEFT JOIN animal_store.removed ON removed.id = pet_id;
    IF replayed IS NOT NULL THEN
      SELECT coalesce(json_agg(animal ORDER BY place), '[]'), array_agg(hash ORDER BY place)
        INTO animals, hashes
        FROM ROWS FROM (json_array_elements(animals), unnest(hashes)) WITH ORDINALITY AS item(animal, hash, place)
        WHERE NOT replayed ? place::text;
    END IF;
    INSERT INTO animal_store.once (hash, pet_id)
      SELECT hash, last_id + place FROM unnest(hashes) WITH ORDINALITY AS item(hash, place) WHERE hash IS NOT NULL;
  END IF;

  INSERT INTO animal_store.pets (id, name, category_id, status)
    SELECT last_id + place, name, category_id, status
    FROM ROWS FROM (json_to_recordset(animals) AS ("name" text, "categoryId" bigint, status text)) WITH ORDINALITY
      AS item(name, category_id, status, place);
  last_id := last_id + json_array_length(animals);
  UPDATE animal_store.counter SET last = last_id;
  INSERT INTO animal_store.commits (id, last, replays) VALUES (commit_id, last_id, replayed);
  RETURN json_build_object('last', last_id, 'replays', replayed);
END $$;
CREATE FUNCTION animal_store.add(commit_id uuid, names text[], category_ids bigint[], statuses text[], hashes text[]) RETURNS json
    LANGUAGE sql
    AS $$
  SELECT animal_store.add(commit_id, coalesce(json_agg(json_build_object(
      'name', name, 'categoryId', category_id, 'status', status
    ) ORDER BY place), '[]'), hashes)
  FROM unnest(names, category_ids, statuses) WITH ORDINALITY AS item(name, category_id, status, place)
$$;
CREATE FUNCTION animal_store.append_key_event(seq bigint, line text, unbanned_id text, before text) RETURNS boolean
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE now_ms bigint; BEGIN
  PERFORM set_config('lock_timeout', '2s', true), set_config('row_security', 'off', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL; PERFORM set_config('client_min_messages', 'warning', true),
  set_config('synchronous_commit', coalesce(substring(current_setting('synchronous_commit'), 'remote.*'), 'on'), true);
  INSERT INTO animal_store.key_events (seq, line)
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
CREATE FUNCTION animal_store.change_statuses(commit_id uuid, ids bigint[], statuses text[], froms text[], hashes text[]) RETURNS json
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
  last_id bigint; pet animal_store.pets; gone animal_store.removed; earlier animal_store.once;
  verdict text; verdicts jsonb;
BEGIN
  PERFORM set_config('lock_timeout', '2s', true), set_config('row_security', 'off', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL; PERFORM set_config('client_min_messages', 'warning', true),
  set_config('synchronous_commit', coalesce(substring(current_setting('synchronous_commit'), 'remote.*'), 'on'), true);
  SELECT last INTO STRICT last_id FROM animal_store.counter FOR UPDATE;
  FOR place IN 1 .. cardinality(ids) LOOP
    SELECT * INTO pet FROM animal_store.pets WHERE id = ids[place];
    SELECT * INTO earlier FROM animal_store.once
      WHERE hash = hashes[place] AND at >= now() - interval '24 hours' AND coalesce((SELECT id FROM animal_store.pets WHERE id = pet_id),
        (SELECT id FROM animal_store.removed WHERE id = pet_id)) IS NOT NULL;
    verdict := CASE
      WHEN ids[place] > last_id THEN 'absent'
      WHEN earlier.pet_id = ids[place] AND earlier.changed_to = statuses[place] THEN 'replay'
      WHEN earlier.hash IS NOT NULL THEN 'conflict'
      WHEN pet.id IS NULL THEN 'absent'
      WHEN pet.status = ANY (string_to_array(froms[place], ' ')) THEN NULL
      ELSE pet.status
    END;
    IF verdict IS NOT NULL THEN
      verdicts := coalesce(verdicts, '{}') || jsonb_build_object(place, verdict);
      IF verdict = 'replay' AND pet.id IS NULL THEN
        SELECT * INTO gone FROM animal_store.removed WHERE id = ids[place];
        verdicts := verdicts || jsonb_build_object(place || ' added', gone.added);
      END IF;
      CONTINUE;
    END IF;
    IF statuses[place] = 'removed' THEN
      DELETE FROM animal_store.pets WHERE id = pet.id;
      INSERT INTO animal_store.removed AS known (id, added) VALUES (pet.id, json_build_array(pet.id, pet.name, pet.category_id::text, coalesce(pet.added, pet.status)))
        ON CONFLICT (id) DO UPDATE SET added = excluded.added, at = excluded.at; -- Somebody brought it back by hand.
    ELSE
      UPDATE animal_store.pets SET status = statuses[place], added = coalesce(added, status)
        WHERE id = pet.id AND (status <> statuses[place] OR hashes[place] IS NOT NULL);
    END IF;
    INSERT INTO animal_store.once AS known (hash, pet_id, changed_to)
      SELECT hashes[place], pet.id, statuses[place] WHERE hashes[place] IS NOT NULL
      ON CONFLICT (hash)
        DO UPDATE SET pet_id = excluded.pet_id, changed_to = excluded.changed_to, at = excluded.at;
  END LOOP;
  INSERT INTO animal_store.commits (id, last, replays) VALUES (commit_id, last_id, verdicts);
  RETURN json_build_object('last', last_id, 'replays', verdicts);
END $$;
CREATE FUNCTION animal_store.clock_ms() RETURNS bigint
    LANGUAGE sql
    AS $$ SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint $$;
CREATE TABLE animal_store.limits (
    key_id text NOT NULL COLLATE pg_catalog."C",
    asked integer DEFAULT 0 NOT NULL,
    per_minute integer DEFAULT 0 NOT NULL,
    per_day integer DEFAULT 0 NOT NULL,
    granted integer DEFAULT 0 NOT NULL,
    decided_at bigint DEFAULT 0 NOT NULL,
    minute_used integer DEFAULT 0 NOT NULL,
    minute_ends bigint DEFAULT 0 NOT NULL,
    day_used integer DEFAULT 0 NOT NULL,
    day_ends bigint DEFAULT 0 NOT NULL,
    refusals integer DEFAULT 0 NOT NULL,
    second_ends bigint DEFAULT 0 NOT NULL,
    ban_until bigint DEFAULT 0 NOT NULL,
    ban_ms bigint DEFAULT 0 NOT NULL,
    last_at bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
CREATE FUNCTION animal_store.decide(l animal_store.limits, asked integer, per_minute integer, per_day integer, now_ms bigint) RETURNS animal_store.limits
    LANGUAGE plpgsql IMMUTABLE
    AS $$ BEGIN
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
CREATE FUNCTION animal_store.decide_commit(commit_id uuid) RETURNS json
    LANGUAGE plpgsql
    AS $$
DECLARE answer json; BEGIN
  PERFORM set_config('lock_timeout', '2s', true), set_config('row_security', 'off', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL; PERFORM set_config('client_min_messages', 'warning', true),
  set_config('synchronous_commit', coalesce(substring(current_setting('synchronous_commit'), 'remote.*'), 'on'), true);
  INSERT INTO animal_store.commits AS known (id) VALUES (commit_id)
    ON CONFLICT (id) DO UPDATE SET at = known.at
    RETURNING json_build_object('last', last, 'replays', replays) INTO answer;
  RETURN answer;
END $$;
CREATE FUNCTION animal_store.get(ids bigint[]) RETURNS json
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$ BEGIN
  PERFORM set_config('lock_timeout', '2s', true), set_config('row_security', 'off', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL;
  RETURN (SELECT json_agg(json_build_array(pet.id, pet.name, pet.category_id::text, pet.status)) FROM animal_store.pets AS pet WHERE id = ANY (ids));
END $$;
CREATE FUNCTION animal_store.key_events_after(after bigint, count integer) RETURNS TABLE(seq bigint, line text)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
  IF current_setting('transaction_read_only') = 'on' THEN
    RAISE read_only_sql_transaction USING MESSAGE = 'the database is a replica or read-only';
  END IF;
  PERFORM set_config('lock_timeout', '2s', true), set_config('row_security', 'off', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL;
  RETURN QUERY SELECT seq, line FROM animal_store.key_events WHERE seq > after ORDER BY seq LIMIT count;
END $$;
CREATE FUNCTION animal_store.list(afters bigint[], lengths integer[], wanteds text[]) RETURNS json
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$ BEGIN
  PERFORM set_config('lock_timeout', '2s', true), set_config('row_security', 'off', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL;
  -- Pairs are compared so that the second branch can only be read from the index by status.
  RETURN (
    SELECT json_agg(page ORDER BY place)
    FROM unnest(afters, lengths, wanteds) WITH ORDINALITY AS query(after, length, wanted, place),
      LATERAL (
        SELECT json_agg(json_build_array(pet.id, pet.name, pet.category_id::text, pet.status) ORDER BY pet.id) AS page
        FROM (
          (SELECT * FROM animal_store.pets WHERE wanted IS NULL AND id > after ORDER BY id LIMIT length)
          UNION ALL
          (SELECT * FROM animal_store.pets WHERE (status, id) > (wanted, after) AND status <= wanted
            ORDER BY status, id LIMIT length)
        ) AS pet
      ) AS found
  );
END $$;
CREATE FUNCTION animal_store.purge(first_block bigint, end_block bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$ BEGIN
  PERFORM set_config('lock_timeout', '2s', true), set_config('row_security', 'off', true);
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
  DELETE FROM animal_store.removed WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM animal_store.removed
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
    pg_relation_size('animal_store.removed'), pg_relation_size('animal_store.limits')
  ) / current_setting('block_size')::int;
END $$;
CREATE FUNCTION animal_store.take(key_ids text[], asked integer[], per_minute integer[], per_day integer[]) RETURNS json
    LANGUAGE plpgsql
    AS $$
DECLARE answer json; BEGIN
  PERFORM set_config('lock_timeout', '2s', true), set_config('row_security', 'off', true);
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
CREATE TABLE animal_store.commits (
    id uuid NOT NULL,
    last bigint,
    replays jsonb,
    at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE animal_store.counter (
    last bigint NOT NULL
);
ALTER TABLE ONLY animal_store.counter REPLICA IDENTITY FULL;
CREATE TABLE animal_store.key_events (
    seq bigint NOT NULL,
    line text NOT NULL
);
CREATE TABLE animal_store.once (
    hash text NOT NULL COLLATE pg_catalog."C",
    pet_id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    changed_to text COLLATE pg_catalog."C"
);
CREATE TABLE animal_store.pets (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    category_id bigint NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    added text COLLATE pg_catalog."C",
    CONSTRAINT pets_id CHECK ((id > 0)),
    CONSTRAINT pets_status CHECK ((status = ANY (ARRAY['available'::text, 'pending'::text, 'sold'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02');
COMMENT ON COLUMN animal_store.pets.status IS 'who changes it by hand also sets added = coalesce(added, status), so that a repeated create is a replay';
CREATE TABLE animal_store.removed (
    id bigint NOT NULL,
    added json NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE animal_store.version (
    version integer NOT NULL
);
ALTER TABLE ONLY animal_store.version REPLICA IDENTITY FULL;
INSERT INTO animal_store.commits VALUES ('8fc57d5b-ce6f-40cd-bf47-89036e4bf7e5', 1, NULL, now());
INSERT INTO animal_store.commits VALUES ('5a168520-0659-4efc-916e-f12d9f1e7c58', 2, NULL, now());
INSERT INTO animal_store.commits VALUES ('cd3888f6-e939-4420-ab8f-d22ceb4af8a5', 2, NULL, now());
INSERT INTO animal_store.counter VALUES (2);
INSERT INTO animal_store.key_events VALUES (1, '{"event":"made","time":"2026-11-27T12:10:09.457Z","id":"key_OWX4KoW79Zkgp6t","sha256":"42cdb641cab1c6f9bfe346d3979f38a45be9a385087d5222b63edcce2b51e593","plan":"free","label":"shop","crc":"06beee27"}');
INSERT INTO animal_store.key_events VALUES (2, '{"event":"made","time":"2026-11-27T12:10:09.676Z","id":"key_4gtdS9yezMUx2zo","sha256":"2d73d8dfc86ccad70214364c8d439ccd5ab437edb233bad19d96dc0bd20f2005","plan":"pro","crc":"c2a5f6bd"}');
INSERT INTO animal_store.limits
  SELECT key_id, 1, 60, 1000, 1, now_ms, minute_used, now_ms + 50000, 40, now_ms + 3600000, 0, 0, now_ms + ban_left, 300000, now_ms
  FROM floor(date_part('epoch', clock_timestamp()) * 1000) AS now_ms,
    (VALUES ('key_OWX4KoW79Zkgp6t', 7, 0), ('key_4gtdS9yezMUx2zo', 300, 250000)) AS used(key_id, minute_used, ban_left);
INSERT INTO animal_store.once VALUES ('NZ__M3E5B9UZK65qikmz2g', 2, now(), NULL);
INSERT INTO animal_store.once VALUES ('0-4cuXa5zpfWfoRdde3sGw', 1, now(), 'pending');
INSERT INTO animal_store.pets VALUES (2, 'Mimi', 2, 'sold', NULL);
INSERT INTO animal_store.pets VALUES (1, 'Rex', 1, 'pending', 'available');
INSERT INTO animal_store.version VALUES (5);
ALTER TABLE ONLY animal_store.commits
    ADD CONSTRAINT commits_pkey PRIMARY KEY (id);
ALTER TABLE ONLY animal_store.key_events
    ADD CONSTRAINT key_events_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY animal_store.limits
    ADD CONSTRAINT limits_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY animal_store.once
    ADD CONSTRAINT once_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY animal_store.pets
    ADD CONSTRAINT pets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY animal_store.removed
    ADD CONSTRAINT removed_pkey PRIMARY KEY (id);
CREATE INDEX pets_by_status ON animal_store.pets USING btree (status, id);
