/**
 * The database's functions of keys and limits, and what all its functions have in common. Those of animals are in
 * catalogue-functions.ts. A start that migrates the schema makes all of them anew, so a change of them needs a
 * migration, if only an empty one. They are functions because only a function can bound how long its statement waits.
 */

import { banRule } from "../limits/ban.ts";
import { dayMs, minuteMs } from "../limits/window.ts";
import { idempotencyHours } from "../pets/idempotency-key.ts";
import { setDurable } from "./database.ts";
import { limitsColumns } from "./limits-table.ts";

export const onceAge = `interval '${idempotencyHours} hours'`;

const { refusalCount, secondMs, durationMinMs, durationMaxMs, memoryMs } = banRule;

/**
 * PostgreSQL does not notice that a client has given up, so without these bounds statements would pile up. The bound of
 * the transaction, from release 17 on, also ends one whose client stopped in the middle of a message. A statement that
 * row security would filter fails, because it would take animals for absent.
 */
export const boundWaits = `PERFORM set_config('lock_timeout', '2s', true), set_config('row_security', 'off', true);
  PERFORM set_config('transaction_timeout', '3s', true)
    WHERE current_setting('transaction_timeout', true) IS NOT NULL;`;

export const durable = `PERFORM ${setDurable};`;

/**
 * A connection plans its statements once, perhaps on small tables, and uses the plans while the tables grow. So only
 * plans by an index are allowed. A scan without one then seems so costly that PostgreSQL would compile it: so no `jit`.
 */
export const indexPlans = `SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off`;

const decided = `granted, decided_at, ${limitsColumns}`;

/** Whoever has locked a row may wait for one that is locked here, or remove it. */
const purge = (table: string, condition: string): string => `DELETE FROM animal_store.${table} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM animal_store.${table}
    WHERE ctid >= format('(%s,0)', first_block)::tid AND ctid < format('(%s,0)', end_block)::tid AND ${condition}
    FOR UPDATE SKIP LOCKED
  ));`;

export const functions = `
CREATE OR REPLACE FUNCTION animal_store.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint $$;

-- Fails on a replica as a write does, although nothing is written.
CREATE OR REPLACE FUNCTION animal_store.key_events_after(after bigint, count int)
RETURNS TABLE (seq bigint, line text) LANGUAGE plpgsql ${indexPlans} AS $$
#variable_conflict use_column
BEGIN
  IF current_setting('transaction_read_only') = 'on' THEN
    RAISE read_only_sql_transaction USING MESSAGE = 'the database is a replica or read-only';
  END IF;
  ${boundWaits}
  RETURN QUERY SELECT seq, line FROM animal_store.key_events WHERE seq > after ORDER BY seq LIMIT count;
END $$;

-- Returns false if somebody else has taken the number, or the event before it is not the one it was decided on. An
-- unban or a reset takes effect in the same transaction, so it ends no later ban and gives back no later request.
CREATE OR REPLACE FUNCTION animal_store.append_key_event(seq bigint, line text, unbanned_id text, before text)
RETURNS boolean LANGUAGE plpgsql ${indexPlans} AS $$
DECLARE now_ms bigint; BEGIN
  ${boundWaits} ${durable}
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

-- Decides requests of one key at one instant: the first "granted" are served. As limits/window.ts and limits/ban.ts.
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
    IF l.minute_ends <= now_ms THEN l.minute_ends := now_ms + ${minuteMs}; END IF;
    IF l.day_ends <= now_ms THEN l.day_ends := now_ms + ${dayMs}; END IF;
    l.minute_used := l.minute_used + l.granted;
    l.day_used := l.day_used + l.granted;
    l.refusals := 0;
  END IF;

  -- The refusals of one instant count as one.
  IF l.granted < asked AND l.ban_until <= now_ms THEN
    IF l.refusals = 0 THEN l.second_ends := now_ms; END IF;
    IF now_ms >= l.second_ends THEN
      l.second_ends := l.second_ends + ${secondMs} * ((now_ms - l.second_ends) / ${secondMs} + 1);
      l.refusals := l.refusals + 1;
    END IF;
    IF l.refusals >= ${refusalCount} THEN
      l.ban_ms := CASE WHEN now_ms <= l.ban_until + ${memoryMs}
        THEN least(2 * l.ban_ms, ${durationMaxMs}) ELSE ${durationMinMs} END;
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
  ${boundWaits}
  PERFORM set_config('synchronous_commit', 'off', true);
  WITH decided AS (
    INSERT INTO animal_store.limits AS held (key_id, asked, per_minute, per_day)
    SELECT * FROM unnest(key_ids, asked, per_minute, per_day) AS one(key_id, asked, per_minute, per_day)
    ORDER BY one.key_id
    ON CONFLICT (key_id) DO UPDATE SET (${decided}) = (
      SELECT ${decided.replaceAll(/\w+/g, "(l).$&")}
      FROM ( -- Called in FROM, it took 2 to 9 % longer.
        SELECT animal_store.decide(
          held, excluded.asked, excluded.per_minute, excluded.per_day, animal_store.clock_ms()
        ) AS l
        OFFSET 0 -- Keeps it from being run for each column.
      ) AS new
    )
    RETURNING held.*
  )
  SELECT json_build_object('keys', json_agg(key_id), 'limits', json_agg(ARRAY[${decided}])) INTO answer FROM decided;
  RETURN answer;
END $$;

-- Removes what has no effect any more, from a piece of each table, and returns the number of blocks of the largest one.
-- Batches are decided within seconds, and commits kept for an hour.
CREATE OR REPLACE FUNCTION animal_store.purge(first_block bigint, end_block bigint)
RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
  ${boundWaits}
  ${purge("commits", "at < now() - interval '1 hour'")}
  ${purge("once", `at < now() - ${onceAge}`)}
  ${purge("removed", `at < now() - ${onceAge}`)}
  ${purge("limits", `greatest(minute_ends, day_ends, last_at + ${dayMs}, ban_until + ${memoryMs})
    < animal_store.clock_ms()`)}
  RETURN greatest(
    pg_relation_size('animal_store.commits'), pg_relation_size('animal_store.once'),
    pg_relation_size('animal_store.removed'), pg_relation_size('animal_store.limits')
  ) / current_setting('block_size')::int;
END $$;
`;
