/**
 * Adds a batch of animals, in SQL.
 */

import { boundWaits } from "./bound-waits.ts";

/**
 * Returns the last id given, and the animals that earlier creates with the same hashes had added, by their places in
 * the batch, from 1. The same is kept in `commits`, for an instance that loses the answer.
 *
 * The row of the counter stays locked until the commit. So creates happen one batch at a time, ids have no gaps,
 * readers see them in order, and what is looked up after the lock includes every earlier batch.
 */
export const addFunction: string = `
CREATE FUNCTION animal_store.add(
  commit_id uuid, names text[], category_ids bigint[], statuses text[], hashes text[],
  OUT last_id bigint, OUT replayed jsonb
) LANGUAGE plpgsql AS $$
BEGIN
  ${boundWaits}
  SELECT last INTO STRICT last_id FROM animal_store.counter FOR UPDATE;

  IF cardinality(array_remove(hashes, NULL)) > 0 THEN
    DELETE FROM animal_store.once WHERE hash = ANY (hashes) AND at < now() - interval '24 hours';
    SELECT jsonb_object_agg(place, jsonb_build_object(
        'id', pets.id, 'name', name, 'categoryId', category_id::text, 'status', status))
      INTO replayed
      FROM unnest(hashes) WITH ORDINALITY AS item(hash, place)
      JOIN animal_store.once USING (hash)
      JOIN animal_store.pets ON pets.id = pet_id;
  END IF;

  WITH fresh AS (
    SELECT item.*, last_id + row_number() OVER (ORDER BY place) AS id
    FROM unnest(names, category_ids, statuses, hashes) WITH ORDINALITY AS item(name, category_id, status, hash, place)
    WHERE replayed IS NULL OR NOT replayed ? place::text
  ), added AS (
    INSERT INTO animal_store.pets (id, name, category_id, status) SELECT id, name, category_id, status FROM fresh
  ), remembered AS (
    INSERT INTO animal_store.once (hash, pet_id) SELECT hash, id FROM fresh WHERE hash IS NOT NULL
  )
  SELECT coalesce(max(id), last_id) INTO last_id FROM fresh;

  UPDATE animal_store.counter SET last = last_id;
  INSERT INTO animal_store.commits (id, last, replays) VALUES (commit_id, last_id, replayed);
END $$;
`;
