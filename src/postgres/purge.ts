/**
 * Removes what no longer has an effect, a piece of a table at a time. So no statement takes long, however large a table
 * is, and no batch waits long for rows that are being removed.
 */

import type { Database } from "./database.ts";

/** Blocks of 8 kB: about 50,000 rows. */
const pieceBlocks = 500;

const purgeTexts: readonly string[] = [
  // A batch is decided within seconds, so its commit is not needed after an hour.
  textOf("commits", "at < now() - interval '1 hour'"),
  textOf("once", "at < now() - interval '24 hours'"),
  textOf("limits", "greatest(day_ends, ban_until + 86400000) < (SELECT animal_store.clock_ms())"),
];

/** Waits for no row, because whoever holds it may wait for another one of the piece, or remove it as well. */
function textOf(table: string, condition: string): string {
  return `WITH purged AS (
    DELETE FROM animal_store.${table} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM animal_store.${table}
      WHERE ctid >= format('(%s,0)', $1::int)::tid AND ctid < format('(%s,0)', $2::int)::tid AND ${condition}
      FOR UPDATE SKIP LOCKED
    ))
  )
  SELECT (pg_relation_size('animal_store.${table}') / current_setting('block_size')::int)::int AS blocks`;
}

/** Never rejects: what fails is tried again by the next purge. */
export async function purge(database: Database): Promise<void> {
  for (const text of purgeTexts) {
    let blockCount = 1;
    for (let block = 0; block < blockCount; block += pieceBlocks) {
      const [row] = await database.run(text, [block, block + pieceBlocks]).catch(() => []);
      blockCount = Number(row?.["blocks"] ?? 0);
    }
  }
}
