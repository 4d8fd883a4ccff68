/** Writes what a database holds as the files of a data folder, ids kept, as of one instant. */

import { join } from "node:path";

import { reportProgress } from "../base/clock.ts";
import { writeFile } from "../disk/replace-file.ts";
import { keyFileName } from "../keys/key-file.ts";
import { limitsFileName, snapshotPieces } from "../limits/limits-file.ts";
import { createChunk } from "../log/chunks.ts";
import { petStatuses, petToJson, type PetStatus } from "../pets/pet.ts";
import { petFileName } from "../store/load-pets.ts";
import { createPetLine, encodePetLine, petLineBytesMax } from "../store/pet-line.ts";
import type { Query } from "./database.ts";
import { onceAge } from "./functions.ts";
import { readLimits } from "./limits-table.ts";
import type { Moved, MoveOptions } from "./move-in.ts";
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

/** A pet has one hash at most. The plan of a cursor begins with the first rows instead of sorting all of them. */
const cursorText = `DECLARE exported NO SCROLL CURSOR FOR
  SELECT pets.id::text AS id, name, category_id::text AS category_id, status, hash,
    floor(extract(epoch FROM at))::text AS at_seconds
  FROM animal_store.pets LEFT JOIN animal_store.once ON pet_id = pets.id AND at > now() - ${onceAge}
  ORDER BY pets.id`;

/** Each animal is a group of its own: the file gets its name only once it is synced, so no line of it can be torn. */
async function* cataloguePieces(query: Query, animalCount: number, { clock, report }: MoveOptions) {
  const onProgress = reportProgress(clock, (done) => report(`exported ${done} of ${animalCount} animals`));
  const chunk = createChunk(bufferBytes);
  const line = createPetLine();
  let count = 0;
  let end = 0;
  await query(cursorText);
  for (let rowCount = rowsMax; rowCount === rowsMax; ) {
    onProgress(count);
    const rows = await query(`FETCH ${rowsMax} FROM exported`);
    rowCount = rows.length;
    for (const { id, name, category_id: categoryId, status, hash, at_seconds: atSeconds } of rows) {
      count += 1;
      if (Number(id) !== count) {
        throw new Error(`Cannot export: animal ${count} is missing in the database`);
      }
      if (end + petLineBytesMax > bufferBytes) {
        yield chunk.bytes.subarray(0, end);
        end = 0;
      }
      const pet = { id: count, name: String(name), categoryId: BigInt(String(categoryId)) };
      const json = petToJson({ ...pet, status: status as PetStatus });
      const statusIndex = petStatuses.indexOf(status as PetStatus);
      const idempotencyHash = hash === null ? undefined : String(hash);
      line.number = line.group = count;
      line.atSeconds = Number(atSeconds);
      end = encodePetLine(chunk, end, { id: count, isChange: false, statusIndex, json, idempotencyHash }, line);
    }
  }
  yield chunk.bytes.subarray(0, end);
  if (count !== animalCount) {
    throw new Error(`Cannot export: the database has ${count} animals, and its counter says ${animalCount}`);
  }
}
