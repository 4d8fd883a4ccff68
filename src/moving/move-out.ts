/** Writes what a database holds as the files of a data folder, ids kept, as of one instant. */

import { join } from "node:path";

import { type Clock, reportProgress } from "../base/clock.ts";
import { writeFile } from "../disk/replace-file.ts";
import { keyFileName } from "../folder/key-file.ts";
import { decodeKeyText } from "../keys/key-line.ts";
import { Keyring } from "../keys/keyring.ts";
import { limitsFileName, snapshotPieces } from "../folder/limits-file.ts";
import { petStatuses, petToJson, type PetStatus } from "../pets/pet.ts";
import { petFileName } from "../store/load-pets.ts";
import { PetFileLines } from "./pet-file-lines.ts";
import type { LineContent } from "../store/pet-line.ts";
import type { Query } from "../postgres/database.ts";
import { onceAge } from "../postgres/functions.ts";
import { readLimits } from "../postgres/limits-table.ts";
import type { Moved, MoveOptions } from "./move-in.ts";
import type { Row } from "../postgres/pool.ts";
import { readLastId } from "../postgres/schema.ts";

export const movedFileNames: readonly string[] = [keyFileName, limitsFileName, petFileName];

const rowsMax = 5_000;

/** The files are synced, their names are not. @param query of a transaction that has not run a statement yet */
export async function moveOut(query: Query, folder: string, options: MoveOptions): Promise<Moved> {
  const { disk, clock } = options;
  await query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  const keyRows = await query("SELECT line FROM animal_store.key_events ORDER BY seq");
  if (keyRows.length > 0) {
    await writeFile(disk, join(folder, keyFileName), [keyRows.map(({ line }) => `${String(line)}\n`).join("")]);
  }
  const limiter = await readLimits(query, clock);
  await writeFile(disk, join(folder, limitsFileName), snapshotPieces(limiter));
  const lines = new PetFileLines();
  await writeFile(disk, join(folder, petFileName), cataloguePieces(query, lines, options));
  return { animalCount: lines.animalCount, keyring: keyringOf(keyRows, clock) };
}

/** For a count of keys: a line that cannot be read is exported as it is. */
function keyringOf(keyRows: readonly Row[], clock: Clock): Keyring {
  const keyring = new Keyring({ clock });
  for (const { line } of keyRows) {
    const event = decodeKeyText(String(line));
    if (!("kind" in event)) {
      keyring.apply(event);
    }
  }
  return keyring;
}

/** A hash counts from the end of its second, as an import takes it. */
const onceColumns = "hash, (ceil(extract(epoch FROM at)) - 1)::text AS at_seconds";

/**
 * Animals have the statuses that they were added with, and one hash at most. The plan of a cursor begins with the first
 * rows instead of sorting all of them.
 */
const addsText = `SELECT pets.id::text AS id, name, category_id::text AS category_id,
    coalesce(added, pets.status) AS status, ${onceColumns}
  FROM animal_store.pets LEFT JOIN animal_store.once
    ON pet_id = pets.id AND once.status IS NULL AND at > now() - ${onceAge}
  ORDER BY pets.id`;

/** The changes whose hashes count, but of removed animals, and then what has become of each animal that was changed. */
const changesTexts = [
  `SELECT pet_id::text AS id, status, ${onceColumns}
    FROM animal_store.once WHERE status IS NOT NULL AND at > now() - ${onceAge}
      AND EXISTS (SELECT FROM animal_store.pets WHERE id = pet_id) ORDER BY at`,
  `SELECT id::text AS id, status, NULL AS hash, NULL AS at_seconds
    FROM animal_store.pets WHERE added IS NOT NULL ORDER BY pets.id`,
];

async function* rowsOf(query: Query, text: string): AsyncGenerator<readonly Row[]> {
  await query(`DECLARE exported NO SCROLL CURSOR FOR ${text}`);
  for (let count = rowsMax; count === rowsMax; ) {
    const rows = await query(`FETCH ${rowsMax} FROM exported`);
    count = rows.length;
    yield rows;
  }
  await query("CLOSE exported");
}

/** An id without a row, because it is in a gap of what was imported or somebody removed it, is in a gap. */
async function* cataloguePieces(query: Query, lines: PetFileLines, { clock, report }: MoveOptions) {
  const lastId = await readLastId(query);
  const onProgress = reportProgress(clock, (done) => report(`exported animals up to id ${done} of ${lastId}`));
  for (const text of [addsText, ...changesTexts]) {
    const isChange = text !== addsText;
    for await (const rows of rowsOf(query, text)) {
      for (const row of rows) {
        if (lines.isFull) {
          yield lines.take();
        }
        lines.add(contentOf(row, isChange), Number(row["at_seconds"]));
      }
      onProgress(lines.lastId);
    }
    lines.skipTo(lastId);
  }
  yield lines.take();
}

function contentOf(row: Row, isChange: boolean): LineContent {
  const id = Number(row["id"]);
  const status = row["status"] as PetStatus; // The service writes no other.
  const { name, category_id: categoryId, hash } = row;
  const json = isChange ? "" : petToJson({ id, name: String(name), categoryId: BigInt(String(categoryId)), status });
  const idempotencyHash = hash === null ? undefined : String(hash);
  return { id, isChange, statusIndex: petStatuses.indexOf(status), json, idempotencyHash };
}
