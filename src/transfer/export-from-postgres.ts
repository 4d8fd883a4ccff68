/** Exports a database to the files of a data folder, with the same ids, as of one instant. */

import { join } from "node:path";

import { reportProgress } from "../base/clock.ts";
import type { Surroundings } from "../disk/disk.ts";
import { writeFile } from "../disk/file-bytes.ts";
import { keyFileName } from "../folder/key-file.ts";
import { limitsFileName, snapshotPieces } from "../folder/limits-file.ts";
import { Keyring } from "../keys/keyring.ts";
import { members } from "../pets/members.ts";
import { isPetStatus, type Pet, petToJson, readPetId } from "../pets/pet.ts";
import type { ChangedTo } from "../postgres/catalogue-functions.ts";
import type { Query } from "../postgres/database.ts";
import { onceAge } from "../postgres/functions.ts";
import { KeyEventReader } from "../postgres/key-event-reader.ts";
import { readLimits } from "../postgres/limits-table.ts";
import { petArray, petOf, type PetRow } from "../postgres/pet-columns.ts";
import type { Row } from "../postgres/pool.ts";
import { holds } from "../postgres/schema-checks.ts";
import { readChangedTo, readLastId } from "../postgres/schema.ts";
import { petFileName } from "../store/load-pets.ts";
import { fileStatuses, type LineContent, removedIndex } from "../store/pet-line.ts";
import type { Transferred } from "./import-to-postgres.ts";
import { PetFileLines } from "./pet-file-lines.ts";

const rowsMax = 5_000;
const texts = members.filter((member) => member.kind === "text");

/** The files are synced, their names are not. @param query of a transaction that has not run a statement yet */
export async function exportDatabase(query: Query, folder: string, options: Surroundings): Promise<Transferred> {
  const { disk, clock } = options;
  await query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  const keyring = new Keyring({ clock });
  const lines = await keyLines(query, keyring);
  if (lines !== "") {
    await writeFile(disk, join(folder, keyFileName), [lines]);
  }
  const limiter = await readLimits(query, clock);
  await writeFile(disk, join(folder, limitsFileName), snapshotPieces(limiter, keyring));
  const petLines = new PetFileLines();
  await writeFile(disk, join(folder, petFileName), cataloguePieces(query, petLines, options));
  return { animalCount: petLines.animalCount, keyring };
}

/** The events as lines, checked as a start does. @throws {KeyError} one is missing, or cannot be read */
async function keyLines(query: Query, keyring: Keyring): Promise<string> {
  const rows = await query("SELECT seq::text AS seq, line FROM animal_store.key_events ORDER BY key_events.seq");
  new KeyEventReader(keyring).applyAll(rows);
  return rows.map(({ line }) => `${String(line)}\n`).join("");
}

/** A hash counts from the end of its second, as an import takes it. */
const onceColumns = "hash, (ceil(extract(epoch FROM at)) - 1)::text AS at_seconds";

const counts = `once.at > now() - ${onceAge}`;

interface Tables {
  readonly changedTo: ChangedTo;
  /** SQL for the animals that are removed. The schema of release 2.1 has no table of them. */
  readonly removed: string;
}

async function tablesOf(query: Query): Promise<Tables> {
  const isThere = await holds(query, "to_regclass('animal_store.removed') IS NOT NULL");
  // Somebody may have brought an animal back by hand.
  const stillRemoved = `(SELECT id, added FROM animal_store.removed AS one
    WHERE NOT EXISTS (SELECT FROM animal_store.pets WHERE id = one.id))`;
  const removed = isThere ? stillRemoved : "(SELECT 0::bigint AS id, NULL::json AS added LIMIT 0)";
  return { changedTo: await readChangedTo(query), removed };
}

/**
 * The animals, with the statuses that they were added with, and one hash each at most. The plan of a cursor begins with
 * the first rows instead of sorting all of them. A removed animal is there as long as a hash of it counts.
 */
const addsText = ({ changedTo, removed }: Tables): string => `SELECT one.id::text AS id, one.pet::text AS pet,
    one.status AS status, ${onceColumns}
  FROM (
    SELECT id, ${petArray("pets", "coalesce(pets.added, pets.status)")} AS pet, coalesce(added, status) AS status
      FROM animal_store.pets
    UNION ALL SELECT id, added, added ->> 3 FROM ${removed} AS gone
      WHERE EXISTS (SELECT FROM animal_store.once WHERE pet_id = gone.id AND ${counts})
  ) AS one LEFT JOIN animal_store.once ON pet_id = one.id AND once.${changedTo} IS NULL AND ${counts}
  ORDER BY one.id`;

/** The changes whose hashes count, but for animals that somebody deleted. Removals come after all changes. */
const changesText = ({ changedTo, removed }: Tables): string => `SELECT pet_id::text AS id,
    ${changedTo} AS status, ${onceColumns}
  FROM animal_store.once WHERE ${changedTo} IS NOT NULL AND ${counts}
    AND (EXISTS (SELECT FROM animal_store.pets WHERE id = pet_id AND ${changedTo} <> 'removed')
      OR EXISTS (SELECT FROM ${removed} AS gone WHERE gone.id = pet_id))
  ORDER BY ${changedTo} = 'removed', at`;

/** What has become of each animal that was changed or removed. One that was brought back by hand has no "added". */
const presentText = ({ changedTo, removed }: Tables): string => `SELECT id::text AS id, status, NULL AS hash,
    NULL AS at_seconds FROM animal_store.pets
    WHERE added IS NOT NULL OR id IN (SELECT pet_id FROM animal_store.once WHERE ${changedTo} IS NOT NULL AND ${counts})
  UNION ALL SELECT id::text, 'removed', NULL, NULL FROM ${removed} AS gone
    WHERE EXISTS (SELECT FROM animal_store.once WHERE pet_id = gone.id AND ${counts})
      AND NOT EXISTS (SELECT FROM animal_store.once WHERE pet_id = gone.id AND ${changedTo} = 'removed' AND ${counts})`;

async function* rowsOf(query: Query, cursor: string, text: string): AsyncGenerator<Row> {
  await query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${text}`);
  for (let count = rowsMax; count === rowsMax; ) {
    const rows = await query(`FETCH ${rowsMax} FROM ${cursor}`);
    count = rows.length;
    yield* rows;
  }
  await query(`CLOSE ${cursor}`);
}

/**
 * Yields animals by id, and changes with hashes by time, as soon as their animals stand before them: a service forgets
 * the oldest hashes by their order in the file.
 */
async function* rowsInOrder(query: Query): AsyncGenerator<{ readonly row: Row; readonly pet?: Pet }> {
  const tables = await tablesOf(query);
  const changes = rowsOf(query, "changes", changesText(tables));
  let change = await changes.next();
  for await (const row of rowsOf(query, "adds", addsText(tables))) {
    const pet = petOf(JSON.parse(String(row["pet"])) as PetRow);
    while (change.done !== true && row["hash"] !== null && isBefore(change.value, row)) {
      yield { row: change.value };
      change = await changes.next();
    }
    yield { row, pet };
  }
  for (; change.done !== true; change = await changes.next()) {
    yield { row: change.value };
  }
  for await (const row of rowsOf(query, "present", presentText(tables))) {
    yield { row };
  }
}

function isBefore(change: Row, add: Row): boolean {
  return Number(change["at_seconds"]) < Number(add["at_seconds"]) && Number(change["id"]) < Number(add["id"]);
}

/**
 * Ids without a row, from a gap in an import or because the animal was removed, become gaps.
 * @throws {Error} a row was written by hand, so that a start would refuse its line
 */
async function* cataloguePieces(query: Query, lines: PetFileLines, { clock, report }: Surroundings) {
  const lastId = await readLastId(query);
  const onProgress = reportProgress(clock, report, "exporting animals", lastId);
  for await (const { row, pet } of rowsInOrder(query)) {
    if (lines.isFull) {
      onProgress(lines.lastId);
      yield lines.take();
    }
    const isTwice = pet !== undefined && pet.id <= lines.lastId; // It has two hashes.
    if (isTwice || !isValid(row, pet)) {
      throw new Error(`the animal with the id ${String(row["id"])} is not as a release writes it: mend it by hand`);
    }
    lines.add(contentOf(row, pet), Number(row["at_seconds"]));
  }
  lines.skipTo(lastId);
  yield lines.take();
}

/** Whether a start would accept its line: somebody may have written the row by hand. */
function isValid(row: Row, pet: Pet | undefined): boolean {
  const { id, status, hash, at_seconds: atSeconds } = row;
  const areTextsValid = pet === undefined || texts.every(({ name, codePointsMax }) => {
    const length = pet[name] === undefined ? 1 : Array.from(String(pet[name])).length;
    return length >= 1 && length <= codePointsMax;
  });
  const isHashValid = hash === null || (/^[\w-]{22}$/.test(String(hash)) && Number.isSafeInteger(Number(atSeconds)));
  const isStatusValid = isPetStatus(status) || (pet === undefined && status === fileStatuses[removedIndex]);
  return readPetId(String(id)) !== undefined && isStatusValid && areTextsValid && isHashValid;
}

function contentOf({ id, status, hash }: Row, pet: Pet | undefined): LineContent {
  return {
    id: Number(id),
    kind: pet === undefined ? "change" : "create",
    statusIndex: fileStatuses.indexOf(String(status)),
    json: pet === undefined ? "" : petToJson(pet),
    idempotencyHash: hash === null ? undefined : String(hash),
  };
}
