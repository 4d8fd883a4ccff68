/**
 * Reads animals, in SQL. These are functions because only a function can bound how long its statement waits for a lock:
 * PostgreSQL does not notice that a client has given up, so such statements would pile up. Their results are no rows of
 * the table, because to look up the type of such rows is to wait for the table's lock, too early for the bound.
 */

import { boundWaits } from "./bound-waits.ts";

/**
 * `list` reads, for each query, one of the two branches from its index, from `after` on, and no further than `length`.
 * The pages come in the order of the queries, each in the order of its ids.
 */
export const readFunctions: string = `
CREATE FUNCTION animal_store.get(ids bigint[])
RETURNS TABLE (id bigint, name text, category_id bigint, status text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  ${boundWaits}
  RETURN QUERY SELECT id, name, category_id, status FROM animal_store.pets WHERE id = ANY (ids);
END $$;

CREATE FUNCTION animal_store.list(afters bigint[], lengths int[], wanteds text[])
RETURNS TABLE (place bigint, id bigint, name text, category_id bigint, status text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  ${boundWaits}
  -- Pairs are compared so that the second branch can only be read from the index by status.
  RETURN QUERY
    SELECT place, pet.id, pet.name, pet.category_id, pet.status
    FROM unnest(afters, lengths, wanteds) WITH ORDINALITY AS query(after, length, wanted, place),
      LATERAL (
        (SELECT * FROM animal_store.pets WHERE wanted IS NULL AND id > after ORDER BY id LIMIT length)
        UNION ALL
        (SELECT * FROM animal_store.pets WHERE (status, id) > (wanted, after) AND status <= wanted
          ORDER BY status, id LIMIT length)
      ) AS pet
    ORDER BY place, pet.id;
END $$;
`;
