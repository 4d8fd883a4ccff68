/** Writes what a database holds as the files of a data folder, ids kept, as of one instant. */

import { join } from "node:path";

import { reportProgress } from "../base/clock.ts";
import { writeFile } from "../disk/replace-file.ts";
import { keyFileName } from "../keys/key-file.ts";
import { limitsFileName, snapshotPieces } from "../limits/limits-file.ts";
import { createChunk } from "../log/chunks.ts";
import { petStatuses, petToJson, type PetStatus } from "../pets/pet.ts";
import { petFileName } from "../store/load-pets.ts";
import { createPetLine, encodePetLine, type LineContent, petLineBytesMax } from "../store/pet-line.ts";
import type { Query } from "./database.ts";
import { onceAge } from "./functions.ts";
import { readLimits } from "./limits-table.ts";
import type { Moved, MoveOptions } from "./move-in.ts";
import type { Row } from "./pool.ts";
import { readAnimalCount } from "./schema.ts";

export const movedFileNames: readonly string[] = [keyFileName, limitsFileName, petFileName];

const rowsMax = 5_000;
const bufferBytes = 1_048_576;

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
  const animalCount = await readAnimalCount(query);
  await writeFile(disk, join(folder, petFileName), cataloguePieces(query, animalCount, options));
  const keyCount = keyRows.filter(({ line }) => String(line).startsWith('{"event":"made"')).length;
  return { animalCount, keyCount };
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

/** The changes whose hashes count, and after them what has become of each animal that was changed. */
const changesTexts = [
  `SELECT pet_id::text AS id, status, ${onceColumns}
    FROM animal_store.once WHERE status IS NOT NULL AND at > now() - ${onceAge} ORDER BY at`,
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

/** Each line is a group of its own: the file gets its name only once it is synced, so no line of it can be torn. */
async function* cataloguePieces(query: Query, animalCount: number, { clock, report }: MoveOptions) {
  const onProgress = reportProgress(clock, (done) => report(`exported ${done} of ${animalCount} animals`));
  const chunk = createChunk(bufferBytes);
  const line = createPetLine();
  let end = 0;
  for (const text of [addsText, ...changesTexts]) {
    const isChange = text !== addsText;
    for await (const rows of rowsOf(query, text)) {
      for (const row of rows) {
        if (end + petLineBytesMax > bufferBytes) {
          yield chunk.bytes.subarray(0, end);
          end = 0;
        }
        line.number += 1;
        line.group = line.number;
        line.atSeconds = Number(row["at_seconds"]);
        const content = contentOf(row, isChange);
        if (!isChange && content.id !== line.number) {
          throw new Error(`Cannot export: animal ${line.number} is missing in the database`);
        }
        end = encodePetLine(chunk, end, content, line);
      }
      onProgress(Math.min(line.number, animalCount));
    }
    if (!isChange && line.number !== animalCount) {
      throw new Error(`Cannot export: the database has ${line.number} animals, and its counter says ${animalCount}`);
    }
  }
  yield chunk.bytes.subarray(0, end);
}

function contentOf(row: Row, isChange: boolean): LineContent {
  const id = Number(row["id"]);
  const status = row["status"] as PetStatus; // The service writes no other.
  const { name, category_id: categoryId, hash } = row;
  const json = isChange ? "" : petToJson({ id, name: String(name), categoryId: BigInt(String(categoryId)), status });
  const idempotencyHash = hash === null ? undefined : String(hash);
  return { id, isChange, statusIndex: petStatuses.indexOf(status), json, idempotencyHash };
}
