/**
 * The database's functions of the catalogue. Those that change it lock the row of the counter first, so that they run
 * one after the other.
 */

import { petVersionMax } from "../pets/pet-store.ts";
import { petStatuses } from "../pets/pet.ts";
import { boundWaits, durable, indexPlans, onceAge } from "./functions.ts";
import { columnNames, columnsOf, petArray, recordOfJson } from "./pet-columns.ts";

const presentArray = petArray("pet");

/** As the animal was added, and without a version. */
export const addedArray = (pet: string): string =>
  `coalesce(${pet}.original::json, ${petArray(pet, `coalesce(${pet}.added, ${pet}.status)`, "NULL")})`;

/** The answer for a hash that belongs to a change: no animal that is added is equal to it. */
const noArray = "json_build_array(pet_id, '', '0', '')";

/** Null for a create. A database that began with release 2.0 has another column for the changes stored before 4.0. */
const changedTo = (once: string): string => `coalesce(${once}.changed_to, to_jsonb(${once}) ->> 'status')`;

/**
 * Whether the animal of a hash is there, or was removed through the service and not by hand in the database. Not with
 * EXISTS: while a table is small, PostgreSQL plans that as a hash table of all ids, and reads it from end to end later.
 */
const isKnown = `coalesce((SELECT id FROM animal_store.pets WHERE id = pet_id),
        (SELECT id FROM animal_store.removed WHERE id = pet_id)) IS NOT NULL`;

/**
 * What the change of a hash made of its animal; null for a create. Before 4.0 the status alone was stored, and no
 * animal was corrected, so that the rest is as it was added.
 */
const resultOf = (once: string): string => `coalesce(${once}.result, jsonb_set(coalesce(
          (SELECT ${addedArray("was")} FROM animal_store.pets AS was WHERE id = ${once}.pet_id),
          (SELECT added FROM animal_store.removed WHERE id = ${once}.pet_id)
        )::jsonb, '{3}', to_jsonb(${changedTo(once)})))`;

export const categoryIndexName = "pets_by_category";
/**
 * Nulls would come first, so that no other index has this order: that of the primary key would be read from end to end
 * if few animals match.
 */
export const categoryIndex = `${categoryIndexName} ON animal_store.pets (category_id, status, id NULLS FIRST)`;

/** The animals of a status in a category, from "after" on. Its `query` may be for another status. */
const categoryBranch = (status: string): string => `
            (SELECT * FROM animal_store.pets WHERE category_id = category AND status = '${status}' AND id > after
              AND (wanted IS NULL OR wanted = '${status}') ORDER BY id NULLS FIRST)`;

export const catalogueFunctions = `
-- "animals" is an array of NewPets: a new member is no new parameter. Returns the last id and, as "replays", the
-- animals that earlier creates with the same hashes had added, by their places in the batch, from 1. "commits" keeps
-- the same, for those that lose the answer. The counter's row stays locked until the commit. So ids have no gaps,
-- readers see them in order, and each batch sees every earlier one.
CREATE OR REPLACE FUNCTION animal_store.add(
  commit_id uuid, animals json, hashes text[]
) RETURNS json LANGUAGE plpgsql ${indexPlans} AS $$
DECLARE last_id bigint; replayed jsonb; BEGIN
  ${boundWaits} ${durable}
  SELECT last INTO STRICT last_id FROM animal_store.counter FOR UPDATE;

  IF cardinality(array_remove(hashes, NULL)) > 0 THEN
    DELETE FROM animal_store.once
      WHERE hash = ANY (hashes) AND (at < now() - ${onceAge} OR NOT (${isKnown}));
    SELECT jsonb_object_agg(place, CASE
        WHEN ${changedTo("once")} IS NOT NULL THEN ${noArray}
        WHEN pet.id IS NULL THEN removed.added
        ELSE ${addedArray("pet")} END)
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

  INSERT INTO animal_store.pets (id, ${columnNames}, status)
    SELECT last_id + place, ${columnNames}, status
    FROM ROWS FROM (json_to_recordset(animals) AS (${recordOfJson})) WITH ORDINALITY
      AS item(${columnNames}, status, place);
  last_id := last_id + json_array_length(animals);
  UPDATE animal_store.counter SET last = last_id;
  INSERT INTO animal_store.commits (id, last, replays) VALUES (commit_id, last_id, replayed);
  RETURN json_build_object('last', last_id, 'replays', replayed);
END $$;

-- Nobody calls it. But the start of release 3.0, to which one may go back, counts the functions of each name.
CREATE OR REPLACE FUNCTION animal_store.add(
  commit_id uuid, names text[], category_ids bigint[], statuses text[], hashes text[]
) RETURNS json LANGUAGE sql AS 'SELECT NULL::json';

-- Changes animals, one after the other. A change has its members by the names of their columns; "removed" for a status
-- removes the animal. Names of statuses and states, as in "Preconditions", are separated by spaces. Returns the last id
-- and, as "replays", what came of each: its "kind" is "changed", "mismatch", "absent", "exhausted" (the animal has its
-- last version) or "known" (an earlier request had the hash). Its "pet" is what this change, or the earlier one, made
-- of the animal, or for a mismatch the animal as it is. The hashes are those of "add".
CREATE OR REPLACE FUNCTION animal_store.change(
  commit_id uuid, ids bigint[], changes json[], matches text[], none_matches text[], hashes text[]
) RETURNS json LANGUAGE plpgsql ${indexPlans} AS $$
DECLARE
  last_id bigint; pet animal_store.pets; next animal_store.pets; earlier animal_store.once;
  states text[]; makes_version boolean; outcome jsonb; outcomes jsonb[];
BEGIN
  ${boundWaits} ${durable}
  SELECT last INTO STRICT last_id FROM animal_store.counter FOR UPDATE;
  FOR place IN 1 .. cardinality(ids) LOOP
    SELECT * INTO pet FROM animal_store.pets WHERE id = ids[place];
    SELECT * INTO earlier FROM animal_store.once
      WHERE hash = hashes[place] AND at >= now() - ${onceAge} AND ${isKnown};
    states := ARRAY[pet.status, pet.status || '-' || pet.version];
    next := json_populate_record(pet, changes[place]);
    makes_version := hashes[place] IS NOT NULL OR next IS DISTINCT FROM pet;
    outcome := CASE
      WHEN ids[place] > last_id THEN '{"kind":"absent"}'
      WHEN earlier.hash IS NOT NULL THEN jsonb_build_object('kind', 'known', 'pet', ${resultOf("earlier")})
      WHEN pet.id IS NULL THEN '{"kind":"absent"}'
      WHEN NOT states && string_to_array(matches[place], ' ') OR states && string_to_array(none_matches[place], ' ')
        THEN jsonb_build_object('kind', 'mismatch', 'pet', ${presentArray})
      WHEN makes_version AND pet.version = ${petVersionMax} THEN '{"kind":"exhausted"}'
    END;
    IF outcome IS NULL THEN
      IF next.status = 'removed' THEN
        DELETE FROM animal_store.pets WHERE id = pet.id;
        INSERT INTO animal_store.removed AS known (id, added) VALUES (pet.id, ${addedArray("pet")})
          ON CONFLICT (id) DO UPDATE SET added = excluded.added, at = excluded.at; -- Somebody brought it back by hand.
      ELSIF makes_version THEN
        next.version := pet.version + 1;
        UPDATE animal_store.pets
          SET (${columnNames}, status, version) = (${columnsOf("next")}, next.status, next.version) WHERE id = pet.id;
      END IF;
      pet := next;
      outcome := jsonb_build_object('kind', 'changed', 'pet', ${presentArray});
      INSERT INTO animal_store.once AS known (hash, pet_id, changed_to, result)
        SELECT hashes[place], pet.id, pet.status, outcome -> 'pet' WHERE hashes[place] IS NOT NULL
        ON CONFLICT (hash) DO UPDATE
          SET (pet_id, changed_to, result, at) = (excluded.pet_id, excluded.changed_to, excluded.result, excluded.at);
    END IF;
    outcomes[place] := outcome;
  END LOOP;
  outcome := to_jsonb(outcomes);
  INSERT INTO animal_store.commits (id, last, replays) VALUES (commit_id, last_id, outcome);
  RETURN json_build_object('last', last_id, 'replays', outcome);
END $$;

-- For running instances of release 3.0. A verdict is what came of a change that was not made: "replay", "conflict",
-- "absent", or the status that does not match. With a replay goes what the first change made of the animal.
CREATE OR REPLACE FUNCTION animal_store.change_statuses(
  commit_id uuid, ids bigint[], statuses text[], froms text[], hashes text[]
) RETURNS json LANGUAGE plpgsql ${indexPlans} AS $$
DECLARE answer jsonb; outcome jsonb; verdict text; verdicts jsonb; BEGIN
  answer := animal_store.change(commit_id, ids, (
    SELECT array_agg(json_build_object('status', status) ORDER BY place)
    FROM unnest(statuses) WITH ORDINALITY AS item(status, place)
  ), froms, NULL, hashes);
  FOR place IN 1 .. cardinality(ids) LOOP
    outcome := answer -> 'replays' -> place - 1;
    CONTINUE WHEN outcome ->> 'kind' = 'changed';
    verdict := CASE outcome ->> 'kind'
      WHEN 'absent' THEN 'absent'
      WHEN 'mismatch' THEN outcome -> 'pet' ->> 3
      ELSE CASE WHEN outcome -> 'pet' -> 0 = to_jsonb(ids[place]) AND outcome -> 'pet' ->> 3 = statuses[place]
        THEN 'replay' ELSE 'conflict' END
    END;
    verdicts := coalesce(verdicts, '{}') || jsonb_build_object(place, verdict);
    IF verdict = 'replay' THEN
      verdicts := verdicts || jsonb_build_object(place || ' added', outcome -> 'pet');
    END IF;
  END LOOP;
  UPDATE animal_store.commits SET replays = verdicts WHERE id = commit_id;
  RETURN json_build_object('last', answer -> 'last', 'replays', verdicts);
END $$;

-- A row that gets another name, category or status gets another version, too, whoever writes it, and keeps how it was
-- added.
CREATE OR REPLACE FUNCTION animal_store.note_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.version = OLD.version THEN NEW.version := OLD.version + 1; END IF;
  NEW.added := coalesce(OLD.added, OLD.status);
  IF (${columnsOf("NEW")}) IS DISTINCT FROM (${columnsOf("OLD")}) THEN
    NEW.original := ${addedArray("OLD")};
  END IF;
  RETURN NEW;
END $$;

-- Returns the same for a batch that was stored. Any other one is given up: "last" is null, and it never will be stored.
CREATE OR REPLACE FUNCTION animal_store.decide_commit(commit_id uuid) RETURNS json LANGUAGE plpgsql AS $$
DECLARE answer json; BEGIN
  ${boundWaits} ${durable}
  INSERT INTO animal_store.commits AS known (id) VALUES (commit_id)
    ON CONFLICT (id) DO UPDATE SET at = known.at
    RETURNING json_build_object('last', last, 'replays', replays) INTO answer;
  RETURN answer;
END $$;

CREATE OR REPLACE FUNCTION animal_store.get(ids bigint[]) RETURNS json LANGUAGE plpgsql ${indexPlans} AS $$ BEGIN
  ${boundWaits}
  RETURN (SELECT json_agg(${presentArray}) FROM animal_store.pets AS pet WHERE id = ANY (ids));
END $$;

-- A page for each query: one of the branches, read from its index from "after" on, up to "length". It is false until
-- the index that it needs has been built.
CREATE OR REPLACE FUNCTION animal_store.list(afters bigint[], lengths int[], wanteds text[], categories bigint[])
RETURNS json LANGUAGE plpgsql ${indexPlans} SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE is_indexed boolean; BEGIN
  ${boundWaits}
  is_indexed := cardinality(array_remove(categories, NULL)) > 0 AND EXISTS (
    SELECT FROM pg_index WHERE indexrelid = to_regclass('animal_store.${categoryIndexName}') AND indisvalid
  );
  -- Pairs are compared so that the second branch can only be read from the index by status.
  RETURN (
    SELECT json_agg(CASE WHEN category IS NULL OR is_indexed THEN page ELSE 'false' END ORDER BY place)
    FROM unnest(afters, lengths, wanteds, categories) WITH ORDINALITY AS query(after, length, wanted, category, place),
      LATERAL (
        SELECT json_agg(${presentArray} ORDER BY pet.id) AS page
        FROM (
          (SELECT * FROM animal_store.pets WHERE category IS NULL AND wanted IS NULL AND id > after
            ORDER BY id LIMIT length)
          UNION ALL
          (SELECT * FROM animal_store.pets
            WHERE category IS NULL AND (status, id) > (wanted, after) AND status <= wanted
            ORDER BY status, id LIMIT length)
          UNION ALL
          (SELECT * FROM (${petStatuses.map(categoryBranch).join(`
            UNION ALL`)}
          ) AS of_category WHERE is_indexed ORDER BY id NULLS FIRST LIMIT length)
        ) AS pet
      ) AS found
  );
END $$;

-- For running instances of release 3.0.
CREATE OR REPLACE FUNCTION animal_store.list(afters bigint[], lengths int[], wanteds text[]) RETURNS json LANGUAGE sql
  AS $$ SELECT animal_store.list(afters, lengths, wanteds, '{}') $$;
`;
