/** Imports the files of a data folder into an empty database, with the same ids, in one transaction of the caller's. */

import { join } from "node:path";

import { textOf } from "../base/checksum.ts";
import { reportProgress } from "../base/clock.ts";
import { pluralize } from "../base/pluralize.ts";
import type { Report } from "../base/report.ts";
import type { Surroundings } from "../disk/disk.ts";
import { fileOf, type ReadableFile, readWholeFile } from "../disk/file-bytes.ts";
import { applyKeyLines, keyFileName } from "../folder/key-file.ts";
import { loadLimits } from "../folder/limits-file.ts";
import { Keyring } from "../keys/keyring.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { damageText, type LogEnd, tornText } from "../log/reader.ts";
import { petStatuses } from "../pets/pet.ts";
import type { Query } from "../postgres/database.ts";
import { onceAge } from "../postgres/functions.ts";
import { writeLimits } from "../postgres/limits-table.ts";
import { columnNames, petArray, recordOfJson } from "../postgres/pet-columns.ts";
import { readChangedTo, readLastId } from "../postgres/schema.ts";
import { idempotencyHashCharacters, type StoredRequest } from "../store/idempotency-table.ts";
import { loadPets, petFileName, type PetSink } from "../store/load-pets.ts";
import { fileStatuses, removedIndex } from "../store/pet-line.ts";

export interface Transferred {
  readonly animalCount: number;
  readonly keyring: Keyring;
}

export interface Source {
  readonly path: string;
  readonly file: ReadableFile;
}

/** The log's part before a torn tail, which is reported. @throws {Error} it is damaged where no start takes it */
export function intactPart(
  path: string,
  end: LogEnd,
  effect: string,
  report: Report,
): Exclude<LogEnd, { readonly kind: "corrupt" }> {
  if (end.kind === "corrupt") {
    throw new Error(damageText(path, end));
  }
  if (end.kind === "torn") {
    report(`${tornText(path, end)}; ${effect}`, "warning");
  }
  return end;
}

/** Bytes of lines that go into one statement: some thousand animals. */
const pieceBytesMax = 524_288;

/** @throws {Error} a file is damaged where a start would refuse it, or the database has an animal or a key */
export async function transferFolder(query: Query, folder: string, options: Surroundings): Promise<Transferred> {
  const keyring = await transferKeys(query, folder, options);
  const path = join(folder, petFileName);
  const opened = await options.disk.openToRead(path);
  const file = opened ?? fileOf(Buffer.alloc(0));
  const moving = transferCatalogue(query, { path, file }, options).finally(() => opened?.close());
  return { animalCount: await moving, keyring };
}

/** Resolves to the number of animals. @throws {Error} the log is damaged, or the database has an animal */
export async function transferCatalogue(
  query: Query,
  source: Source,
  { clock, report }: Surroundings,
): Promise<number> {
  const { path, file } = source;
  const lastId = await readLastId(query, "FOR UPDATE");
  if (lastId > 0) {
    throw new Error(`the database has ${pluralize(lastId, "animal")}, and ids are kept in an empty one only`);
  }
  const changedTo = await readChangedTo(query);
  const copy = new CatalogueCopy();
  const onProgress = reportProgress(clock, report, `importing ${path}`, file.size());
  const end = await loadPets(inPieces(file, () => copy.flush(query, changedTo)), copy, { hashes: copy, onProgress });
  intactPart(path, end, "the animals before them are imported", report);
  await copy.flush(query, changedTo);
  await query("UPDATE animal_store.counter SET last = $1", [copy.lastId]);
  return copy.animalCount;
}

/** What was read is inserted before more is read, so memory stays bounded. */
function inPieces(file: ReadableFile, beforeRead: () => Promise<void>): ReadableFile {
  return {
    async read(target, position) {
      await beforeRead();
      return file.read(target.subarray(0, pieceBytesMax), position);
    },
    size: () => file.size(),
  };
}

const addText = `INSERT INTO animal_store.pets (${columnNames}, status, id)
  SELECT * FROM json_to_recordset($1) AS pet(${recordOfJson}, id bigint)`;
const changeText = `UPDATE animal_store.pets SET status = one.status, added = coalesce(added, pets.status)
  FROM json_to_recordset($1) AS one(id bigint, status text) WHERE pets.id = one.id`;
const removeText = `WITH gone AS (
    DELETE FROM animal_store.pets WHERE id IN (SELECT one.id FROM json_to_recordset($1) AS one(id bigint)) RETURNING *
  )
  INSERT INTO animal_store.removed (id, added) SELECT gone.id, ${petArray("gone", "coalesce(gone.added, gone.status)")}
  FROM gone`;
/** A line has the second that its request began in: its age counts from the end of that second. */
const rememberText = (changedTo: string): string => `INSERT INTO animal_store.once (hash, pet_id, ${changedTo}, at)
  SELECT hash, id, status, least(now(), to_timestamp("atSeconds" + 1))
  FROM json_to_recordset($1) AS one(hash text, id bigint, status text, "atSeconds" float8)
  WHERE to_timestamp("atSeconds" + 1) > now() - ${onceAge}
  ON CONFLICT (hash) DO UPDATE SET pet_id = excluded.pet_id, ${changedTo} = excluded.${changedTo}, at = excluded.at`;

/** A row of the table `once`. */
interface OnceRow {
  readonly hash: string;
  readonly id: number;
  /** Null for a create. */
  readonly status: string | null;
  readonly atSeconds: number;
}

/** Takes animals, changes and idempotency hashes as they are read. */
class CatalogueCopy implements PetSink {
  /** Each as `petToJson` writes it. */
  #pets: string[] = [];
  /** The last status that each animal was changed to, by its id. */
  #statuses = new Map<number, string>();
  /** If a hash was used again, the later request counts. */
  #hashes = new Map<string, OnceRow>();
  /** Changed here only, as is `lastId`. */
  animalCount = 0;
  lastId = 0;

  append(bytes: DataView, start: number, end: number, statusIndex: number): void {
    this.#pets.push(`${textOf(bytes, start, end)}${petStatuses[statusIndex]}"}`);
    this.animalCount += 1;
    this.lastId += 1;
  }

  skipTo(id: number): void {
    this.lastId = id;
  }

  changeStatus(id: number, statusIndex: number): void {
    this.#statuses.set(id, fileStatuses[statusIndex]!); // One of the known statuses.
    this.animalCount -= Number(statusIndex === removedIndex);
  }

  rememberSince(bytes: DataView, start: number, request: StoredRequest, atSeconds: number): void {
    const { id, isChange, statusIndex } = request;
    const hash = textOf(bytes, start, start + idempotencyHashCharacters);
    this.#hashes.set(hash, { hash, id, status: isChange ? fileStatuses[statusIndex]! : null, atSeconds });
  }

  async flush(query: Query, changedTo: string): Promise<void> {
    const statuses = Array.from(this.#statuses, ([id, status]) => ({ id, status }));
    const isRemoval = ({ status }: { readonly status: string }): boolean => status === fileStatuses[removedIndex];
    const [pets, hashes] = [this.#pets, [...this.#hashes.values()]];
    [this.#pets, this.#statuses, this.#hashes] = [[], new Map(), new Map()];
    await query(addText, [`[${pets.join(",")}]`]);
    await query(changeText, [JSON.stringify(statuses.filter((one) => !isRemoval(one)))]);
    await query(removeText, [JSON.stringify(statuses.filter(isRemoval))]);
    await query(rememberText(changedTo), [JSON.stringify(hashes)]);
  }
}

const appendText = `INSERT INTO animal_store.key_events (seq, line)
  SELECT place, line FROM unnest($1::text[]) WITH ORDINALITY AS one(line, place)`;

/** Moves keys and limits. Resolves to the keys. @throws {Error} the file is damaged before its end */
async function transferKeys(query: Query, folder: string, { disk, clock, report }: Surroundings): Promise<Keyring> {
  if ((await query("SELECT FROM animal_store.key_events LIMIT 1")).length > 0) {
    throw new Error("the database has keys, and a folder is moved into an empty one only");
  }
  const keyring = new Keyring({ clock });
  const path = join(folder, keyFileName);
  const content = (await readWholeFile(disk, path)) ?? Buffer.alloc(0);
  const end = await applyKeyLines(fileOf(content), keyring);
  const { lengthBytes } = intactPart(path, end, "the keys before them are imported", report);
  // If somebody makes a key meanwhile, one transaction waits, and finds that the number of its event is taken.
  await query(appendText, [content.toString("utf8", 0, lengthBytes).split("\n").slice(0, -1)]);
  const limiter = new MemoryLimiter({ clock });
  const fault = await loadLimits(disk, folder, limiter);
  if (fault !== undefined) {
    report(`limits.json ${fault}; all limits start unused`, "warning");
  }
  await writeLimits(query, limiter);
  return keyring;
}
