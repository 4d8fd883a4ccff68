/**
 * Adds a batch of animals, in SQL.
 */

import { boundWaits, durableCommit, indexPlans } from "./function-parts.ts";
import { petArray } from "./read-pets-sql.ts";

/**
 * Returns the last id given and, as `replays`, the animals that earlier creates with the same hashes had added, by
 * their places in the batch, from 1. The same is kept in `commits`, for an instance that loses the answer.
 *
 * The row of the counter stays locked until the commit. So creates happen one batch at a time, ids have no gaps,
 * readers see them in order, and what is looked up after the lock includes every earlier batch.
 */
export const addFunctions: string = `
CREATE FUNCTION animal_store.add(
  commit_id uuid, names text[], category_ids bigint[], statuses text[], hashes text[]
) RETURNS json LANGUAGE plpgsql
${indexPlans} AS $$
DECLARE
  last_id bigint;
  replayed jsonb;
BEGIN
  ${boundWaits}
  PERFORM ${durableCommit};
  SELECT last INTO STRICT last_id FROM animal_store.counter FOR UPDATE;

  IF cardinality(array_remove(hashes, NULL)) > 0 THEN
    DELETE FROM animal_store.once
      WHERE hash = ANY (hashes) AND (at < now() - interval '24 hours'
        OR NOT EXISTS (SELECT FROM animal_store.pets WHERE id = pet_id)); -- Somebody deleted the animal.
    SELECT jsonb_object_agg(place, ${petArray})
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

-- Returns the same for a batch that was stored. Any other one is given up: "last" is null, and it never will be stored.
CREATE FUNCTION animal_store.decide_commit(commit_id uuid) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  answer json;
BEGIN
  ${boundWaits}
  PERFORM ${durableCommit};
  INSERT INTO animal_store.commits AS known (id) VALUES (commit_id)
    ON CONFLICT (id) DO UPDATE SET at = known.at
    RETURNING json_build_object('last', last, 'replays', replays) INTO answer;
  RETURN answer;
END $$;
`;
