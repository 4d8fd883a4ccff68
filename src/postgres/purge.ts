/**
 * Removes what no longer has an effect, a piece of a table at a time. So no statement takes long, however large a table
 * is, and no batch waits long for rows that are being removed.
 */

import type { Database } from "./database.ts";
import { boundWaits } from "./function-parts.ts";

/** Blocks of 8 kB, of each table: about 10,000 rows. */
const pieceBlocks = 100;

/** Removes rows of one table. Skips locked ones: their holder may wait for a row locked here, or remove them. */
function deletion(table: string, condition: string): string {
  return `DELETE FROM animal_store.${table} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM animal_store.${table}
    WHERE ctid >= format('(%s,0)', first_block)::tid AND ctid < format('(%s,0)', end_block)::tid AND ${condition}
    FOR UPDATE SKIP LOCKED
  ));`;
}

/** Returns the number of blocks of the largest table. A batch is decided within seconds, so an hour is enough. */
export const purgeFunction: string = `
CREATE FUNCTION animal_store.purge(first_block bigint, end_block bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  ${boundWaits}
  ${deletion("commits", "at < now() - interval '1 hour'")}
  ${deletion("once", "at < now() - interval '24 hours'")}
  ${deletion("limits", "greatest(minute_ends, day_ends, ban_until + 86400000) < animal_store.clock_ms()")}
  RETURN greatest(
    pg_relation_size('animal_store.commits'), pg_relation_size('animal_store.once'),
    pg_relation_size('animal_store.limits')
  ) / current_setting('block_size')::int;
END $$;
`;

/** Never rejects: what fails is tried again by the next purge. Stops between two pieces. */
export async function purge(database: Database, stopping: AbortSignal): Promise<void> {
  let blockCount = 1;
  for (let block = 0; block < blockCount && !stopping.aborted; block += pieceBlocks) {
    const text = "SELECT animal_store.purge($1, $2)::text AS blocks";
    const [row] = await database.run(text, [block, block + pieceBlocks]).catch(() => []);
    blockCount = Number(row?.["blocks"] ?? 0);
  }
}
