/**
 * Reads animals, in SQL. These are functions because only a function can bound how long its statement waits for a lock:
 * PostgreSQL does not notice that a client has given up, so such statements would pile up.
 */

import { boundWaits, indexPlans } from "./function-parts.ts";

/** An animal as a `PetRow`. A JSON number would lose digits of the category's id. */
export const petArray = "json_build_array(pet.id, name, category_id::text, status)";

/**
 * `get` returns the animals that it finds. `list` returns a page for each query: it reads one of the two branches from
 * its index, from `after` on, and no further than `length`.
 */
export const readFunctions: string = `
CREATE FUNCTION animal_store.get(ids bigint[]) RETURNS json LANGUAGE plpgsql
${indexPlans} AS $$
BEGIN
  ${boundWaits}
  RETURN (SELECT json_agg(${petArray}) FROM animal_store.pets AS pet WHERE id = ANY (ids));
END $$;

CREATE FUNCTION animal_store.list(afters bigint[], lengths int[], wanteds text[]) RETURNS json LANGUAGE plpgsql
${indexPlans} AS $$
BEGIN
  ${boundWaits}
  -- Pairs are compared so that the second branch can only be read from the index by status.
  RETURN (
    SELECT json_agg(page ORDER BY place)
    FROM unnest(afters, lengths, wanteds) WITH ORDINALITY AS query(after, length, wanted, place),
      LATERAL (
        SELECT json_agg(${petArray} ORDER BY pet.id) AS page
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
