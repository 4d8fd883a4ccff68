/**
 * The database's functions of the catalogue. Those that change it lock the row of the counter first, so that they run
 * one after the other.
 */

import { boundWaits, durable, indexPlans, onceAge } from "./functions.ts";
import { columnNames, petArray, recordOfJson } from "./pet-columns.ts";

const presentArray = petArray("pet", "pet.status");

/** The name of the column of `once` with a change's new status: it depends on the release that added it. */
export type ChangedTo = "changed_to" | "status";

const addedArray = petArray("pet", "coalesce(pet.added, pet.status)");

/** The answer for a hash that belongs to a change: no animal that is added is equal to it. */
const noArray = "json_build_array(pet_id, '', '0', '')";

/**
 * Whether the animal of a hash is there, or was removed through the service and not by hand in the database. Not with
 * EXISTS: while a table is small, PostgreSQL plans that as a hash table of all ids, and reads it from end to end later.
 */
const isKnown = `coalesce((SELECT id FROM animal_store.pets WHERE id = pet_id),
        (SELECT id FROM animal_store.removed WHERE id = pet_id)) IS NOT NULL`;

export const catalogueFunctions = (changedTo: ChangedTo): string => `
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
        WHEN once.${changedTo} IS NOT NULL THEN ${noArray}
        WHEN pet.id IS NULL THEN removed.added
        ELSE ${addedArray} END)
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

-- For running instances of release 2.1.
CREATE OR REPLACE FUNCTION animal_store.add(
  commit_id uuid, names text[], category_ids bigint[], statuses text[], hashes text[]
) RETURNS json LANGUAGE sql AS $$
  SELECT animal_store.add(commit_id, coalesce(json_agg(json_build_object(
      'name', name, 'categoryId', category_id, 'status', status
    ) ORDER BY place), '[]'), hashes)
  FROM unnest(names, category_ids, statuses) WITH ORDINALITY AS item(name, category_id, status, place)
$$;

-- Changes statuses, one after the other; to "removed", it removes the animal. Returns the last id and, as "replays",
-- what came of those that it did not change: "replay", "conflict", "absent", or the status that is none of those in
-- "froms", which spaces separate. For the replay of an animal that was removed since, "1 added" is how it was added.
-- The hashes are those of "add".
CREATE OR REPLACE FUNCTION animal_store.change_statuses(
  commit_id uuid, ids bigint[], statuses text[], froms text[], hashes text[]
) RETURNS json LANGUAGE plpgsql ${indexPlans} AS $$
DECLARE
  last_id bigint; pet animal_store.pets; gone animal_store.removed; earlier animal_store.once;
  verdict text; verdicts jsonb;
BEGIN
  ${boundWaits} ${durable}
  SELECT last INTO STRICT last_id FROM animal_store.counter FOR UPDATE;
  FOR place IN 1 .. cardinality(ids) LOOP
    SELECT * INTO pet FROM animal_store.pets WHERE id = ids[place];
    SELECT * INTO earlier FROM animal_store.once
      WHERE hash = hashes[place] AND at >= now() - ${onceAge} AND ${isKnown};
    verdict := CASE
      WHEN ids[place] > last_id THEN 'absent'
      WHEN earlier.pet_id = ids[place] AND earlier.${changedTo} = statuses[place] THEN 'replay'
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
      INSERT INTO animal_store.removed AS known (id, added) VALUES (pet.id, ${addedArray})
        ON CONFLICT (id) DO UPDATE SET added = excluded.added, at = excluded.at; -- Somebody brought it back by hand.
    ELSE
      UPDATE animal_store.pets SET status = statuses[place], added = coalesce(added, status)
        WHERE id = pet.id AND (status <> statuses[place] OR hashes[place] IS NOT NULL);
    END IF;
    INSERT INTO animal_store.once AS known (hash, pet_id, ${changedTo})
      SELECT hashes[place], pet.id, statuses[place] WHERE hashes[place] IS NOT NULL
      ON CONFLICT (hash)
        DO UPDATE SET pet_id = excluded.pet_id, ${changedTo} = excluded.${changedTo}, at = excluded.at;
  END LOOP;
  INSERT INTO animal_store.commits (id, last, replays) VALUES (commit_id, last_id, verdicts);
  RETURN json_build_object('last', last_id, 'replays', verdicts);
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

-- A page for each query: one of the two branches, read from its index from "after" on, up to "length".
CREATE OR REPLACE FUNCTION animal_store.list(afters bigint[], lengths int[], wanteds text[])
RETURNS json LANGUAGE plpgsql ${indexPlans} AS $$ BEGIN
  ${boundWaits}
  -- Pairs are compared so that the second branch can only be read from the index by status.
  RETURN (
    SELECT json_agg(page ORDER BY place)
    FROM unnest(afters, lengths, wanteds) WITH ORDINALITY AS query(after, length, wanted, place),
      LATERAL (
        SELECT json_agg(${presentArray} ORDER BY pet.id) AS page
        FROM (
          (SELECT * FROM animal_store.pets WHERE wanted IS NULL AND id > after ORDER BY id LIMIT length)
          UNION ALL
          (SELECT * FROM animal_store.pets WHERE (status, id) > (wanted, after) AND status <= wanted
            ORDER BY status, id LIMIT length)
        ) AS pet
      ) AS found
  );
END $$;
`;
