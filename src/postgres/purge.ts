/**
 * Removes what no longer has an effect, a piece of a table at a time. So no statement takes long, however large a table
 * is, and no batch waits long for rows that are being removed.
 */

import type { Database } from "./database.ts";

/** Blocks of 8 kB, of each table: about 10,000 rows. */
const pieceBlocks = 100;

/** Never rejects: what fails is tried again by the next purge. Stops between two pieces. */
export async function purge(database: Database, stopping: AbortSignal): Promise<void> {
  let blockCount = 1;
  for (let block = 0; block < blockCount && !stopping.aborted; block += pieceBlocks) {
    const text = "SELECT animal_store.purge($1, $2)::text AS blocks";
    const [row] = await database.run(text, [block, block + pieceBlocks]).catch(() => []);
    blockCount = Number(row?.["blocks"] ?? 0);
  }
}
