/** Writes what a data folder has into an empty database, with the same ids, in one transaction of the caller's. */

import type { Clock } from "../base/clock.ts";
import { pluralize } from "../base/pluralize.ts";
import { restoreLimits } from "../folder/limits-file.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import type { Query } from "../postgres/database.ts";
import { onceAge } from "../postgres/functions.ts";
import { writeLimits } from "../postgres/limits-table.ts";
import { columnNames, columnsOf, petArray, recordOfJson } from "../postgres/pet-columns.ts";
import { readLastId } from "../postgres/schema.ts";
import type { Catalogue } from "../store/catalogue.ts";
import { fileStatuses } from "../store/pet-line.ts";
import type { DatedContent, FolderContent, PetsRead } from "./read-folder.ts";

/** @throws {Error} the database has an animal or a key */
export async function writeToDatabase(query: Query, content: FolderContent, clock: Clock): Promise<void> {
  if ((await query("SELECT FROM animal_store.key_events LIMIT 1")).length > 0) {
    throw new Error("the database has keys, and a folder is moved into an empty one only");
  }
  const keyLines = content.keyBytes?.toString().split("\n").slice(0, -1) ?? [];
  // If somebody makes a key meanwhile, one transaction waits, and finds that the number of its event is taken.
  await query(appendText, [keyLines]);
  const limiter = new MemoryLimiter({ clock });
  if (content.limits !== undefined) {
    restoreLimits(limiter, content.limits.saved);
  }
  await writeLimits(query, limiter);
  const lastId = await readLastId(query);
  if (lastId > 0) {
    throw new Error(`the database has ${pluralize(lastId, "animal")}, and ids are kept in an empty one only`);
  }
  await (content.pets && writePets(query, content.pets));
}

async function writePets(query: Query, { catalogue, replays }: PetsRead): Promise<void> {
  /** As they were added: the animals that have changed or were removed since, and have a hash. */
  const added = new Map<number, string>();
  for (const { id, kind, statusIndex, version } of replays) {
    const isChanged = kind === "create" && version < catalogue.versionOf(id);
    if (!added.has(id) && (isChanged || catalogue.statusOf(id) === undefined)) {
      added.set(id, `${rowStart(catalogue, id, statusIndex, version)}}`);
    }
  }
  await insert(query, addText, petRows(catalogue, added));
  // If a hash was used again, the later request counts.
  const hashes = new Map(replays.map((replay) => [replay.idempotencyHash, replay]));
  await insert(query, rememberText, onceRows(catalogue, hashes.values()));
  const isRemoved = ([id]: readonly [id: number, row: string]): boolean => catalogue.statusOf(id) === undefined;
  await insert(query, removeText, [...added].filter(isRemoved).map(([, row]) => row));
  await query("UPDATE animal_store.counter SET last = $1", [catalogue.lastId]);
}

const appendText = `INSERT INTO animal_store.key_events (seq, line)
  SELECT place, line FROM unnest($1::text[]) WITH ORDINALITY AS one(line, place)`;

/** The animals in a JSON text, by the names of their columns, each as it was once, and what else is said of it. */
const given = `ROWS FROM (json_to_recordset($1) AS
    (${recordOfJson}, id bigint, version int, added json, hash text, is_change boolean, at float8))
  AS pet(${columnNames}, status, id, version, added, hash, is_change, at)`;
const addText = `INSERT INTO animal_store.pets (${columnNames}, status, id, version, original)
  SELECT ${columnsOf("pet")}, pet.status, pet.id, pet.version,
    CASE WHEN pet.added IS NOT NULL THEN ${petArray("was", "was.status", "NULL")} END
  FROM ${given} LEFT JOIN LATERAL ROWS FROM (json_to_record(pet.added) AS (${recordOfJson}, id bigint))
    AS was(${columnNames}, status, id) ON true`;
/** A line has the second that its request began in: its age counts from the end of that second. */
const rememberText = `INSERT INTO animal_store.once (hash, pet_id, changed_to, result, at)
  SELECT hash, id, CASE WHEN is_change THEN status END, CASE WHEN is_change THEN ${petArray("pet")} END,
    least(now(), to_timestamp(at + 1))
  FROM ${given} WHERE to_timestamp(at + 1) > now() - ${onceAge}`;
const removeText = `INSERT INTO animal_store.removed (id, added)
  SELECT id, ${petArray("pet", "pet.status", "NULL")} FROM ${given}`;

/** The beginning of a JSON object: the animal in a version, with its id. */
function rowStart(catalogue: Catalogue, id: number, statusIndex: number, version: number): string {
  return `${catalogue.textOf(id, version)}${fileStatuses[statusIndex]}","version":${version}`;
}

function* petRows(catalogue: Catalogue, added: ReadonlyMap<number, string>): Generator<string> {
  for (let id = catalogue.next(1); id !== undefined; id = catalogue.next(id + 1)) {
    const start = rowStart(catalogue, id, catalogue.statusOf(id)!, catalogue.versionOf(id)); // `next` finds animals.
    yield `${start},"added":${added.get(id) ?? null}}`;
  }
}

function* onceRows(catalogue: Catalogue, replays: Iterable<DatedContent>): Generator<string> {
  for (const { id, kind, statusIndex, version, idempotencyHash: hash, atSeconds: at } of replays) {
    const rest = JSON.stringify({ hash, is_change: kind !== "create", at });
    yield `${rowStart(catalogue, id, statusIndex, version)},${rest.slice(1)}`;
  }
}

/** The length of the rows that go into one statement: some thousand animals. */
const pieceCharactersMax = 524_288;

async function insert(query: Query, text: string, rows: Iterable<string>): Promise<void> {
  let [piece, characterCount]: [string[], number] = [[], 0];
  for (const row of rows) {
    piece.push(row);
    characterCount += row.length;
    if (characterCount > pieceCharactersMax) {
      await query(text, [`[${piece.join()}]`]);
      [piece, characterCount] = [[], 0];
    }
  }
  await query(text, [`[${piece.join()}]`]);
}
