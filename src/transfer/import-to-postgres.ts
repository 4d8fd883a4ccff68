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
import { addedArray } from "../postgres/catalogue-functions.ts";
import type { Query } from "../postgres/database.ts";
import { onceAge } from "../postgres/functions.ts";
import { writeLimits } from "../postgres/limits-table.ts";
import { columnNames, columnsOf, petArray, recordOfJson } from "../postgres/pet-columns.ts";
import { readLastId } from "../postgres/schema.ts";
import { idempotencyHashCharacters, type StoredRequest } from "../store/idempotency-table.ts";
import { loadPets, petFileName, type PetSink } from "../store/load-pets.ts";
import { fileStatuses, removedIndex } from "../store/pet-line.ts";
import { Versions } from "../store/versions.ts";

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
  const copy = new CatalogueCopy();
  const onProgress = reportProgress(clock, report, `importing ${path}`, file.size());
  const end = await loadPets(inPieces(file, () => copy.flush(query)), copy, { hashes: copy, onProgress });
  intactPart(path, end, "the animals before them are imported", report);
  await copy.flush(query);
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

/** The animals in a JSON text, by the names of their columns. */
const given = `ROWS FROM (json_to_recordset($1) AS (${recordOfJson}, id bigint, version int))
  AS given(${columnNames}, status, id, version)`;
const addText = `INSERT INTO animal_store.pets (${columnNames}, status, id, version) SELECT * FROM ${given}`;
const correctText = `UPDATE animal_store.pets
  SET (${columnNames}, status, version) = (${columnsOf("given")}, given.status, given.version)
  FROM ${given} WHERE pets.id = given.id`;
const changeText = `UPDATE animal_store.pets SET status = one.status, version = one.version
  FROM json_to_recordset($1) AS one(id bigint, status text, version int) WHERE pets.id = one.id`;
const removeText = `WITH gone AS (
    DELETE FROM animal_store.pets WHERE id IN (SELECT one.id FROM json_to_recordset($1) AS one(id bigint)) RETURNING *
  )
  INSERT INTO animal_store.removed (id, added) SELECT gone.id, ${addedArray("gone")} FROM gone`;
/** A line has the second that its request began in: its age counts from the end of that second. */
const rememberText = `INSERT INTO animal_store.once (hash, pet_id, changed_to, result, at)
  SELECT hash, one.id, one.status, CASE
      WHEN one.text IS NOT NULL THEN ${petArray("corrected", "one.status", "one.version")}
      WHEN one.status IS NOT NULL THEN ${petArray("pet", "one.status", "one.version")} END,
    least(now(), to_timestamp("atSeconds" + 1))
  FROM json_to_recordset($1) AS one(hash text, id bigint, status text, version int, "atSeconds" float8, text text)
  JOIN animal_store.pets AS pet ON pet.id = one.id
  LEFT JOIN LATERAL ROWS FROM (json_to_record(one.text::json) AS (id bigint, ${recordOfJson}))
    AS corrected(id, ${columnNames}, status) ON true
  WHERE to_timestamp("atSeconds" + 1) > now() - ${onceAge}
  ON CONFLICT (hash) DO UPDATE
    SET (pet_id, changed_to, result, at) = (excluded.pet_id, excluded.changed_to, excluded.result, excluded.at)`;

/** A row of the table `once`. */
interface OnceRow {
  readonly hash: string;
  readonly id: number;
  /** Null for a create. */
  readonly status: string | null;
  readonly version: number;
  readonly atSeconds: number;
  /** The animal, if the request changed it after a correction that is not in the database yet. */
  readonly text: string | undefined;
}

interface State {
  readonly status: string;
  readonly version: number;
}

/** Takes animals, changes and idempotency hashes as they are read. */
class CatalogueCopy implements PetSink {
  /** Each as `petToJson` writes it, with the version. */
  #pets: string[] = [];
  /** What each animal was last changed to, by its id. */
  #states = new Map<number, State>();
  /** The text up to the status of each animal that was corrected, by its id. */
  #texts = new Map<number, string>();
  /** If a hash was used again, the later request counts. */
  #hashes = new Map<string, OnceRow>();
  readonly #versions = new Versions();
  /** Changed here only, as is `lastId`. */
  animalCount = 0;
  lastId = 0;

  append(bytes: DataView, start: number, end: number, statusIndex: number, version: number): void {
    this.#pets.push(petText(textOf(bytes, start, end), { status: fileStatuses[statusIndex]!, version }));
    this.animalCount += 1;
    this.lastId += 1;
    if (version > 1) {
      this.#versions.set(this.lastId, version);
    }
  }

  skipTo(id: number): void {
    this.lastId = id;
  }

  versionOf(id: number): number {
    return this.#versions.of(id);
  }

  changeStatus(id: number, statusIndex: number, version: number): void {
    this.#versions.set(id, version);
    this.#states.set(id, { status: fileStatuses[statusIndex]!, version }); // One of the known statuses.
    this.animalCount -= Number(statusIndex === removedIndex);
  }

  correct(id: number, text: Parameters<PetSink["correct"]>[1], statusIndex: number, version: number): void {
    this.#texts.set(id, textOf(text.bytes, text.start, text.end));
    this.changeStatus(id, statusIndex, version);
  }

  rememberSince(bytes: DataView, start: number, request: StoredRequest, atSeconds: number): void {
    const { id, isChange, statusIndex, version } = request;
    const hash = textOf(bytes, start, start + idempotencyHashCharacters);
    const status = isChange ? fileStatuses[statusIndex]! : null;
    const text = this.#texts.get(id);
    this.#hashes.set(hash, { hash, id, status, version, atSeconds, text: text && `${text}"}` });
  }

  /** The database knows how old a hash is. */
  secondsOf(wallSeconds: number): number {
    return wallSeconds;
  }

  /** Hashes come before the changes, so that they find what each animal was before it was corrected. */
  async flush(query: Query): Promise<void> {
    const states = Array.from(this.#states, ([id, state]) => ({ id, ...state, text: this.#texts.get(id) }));
    const [removals, kept] = partition(states, ({ status }) => status === fileStatuses[removedIndex]);
    const [corrections, changes] = partition(kept, ({ text }) => text !== undefined);
    const [pets, hashes] = [this.#pets, [...this.#hashes.values()]];
    [this.#pets, this.#states, this.#texts, this.#hashes] = [[], new Map(), new Map(), new Map()];
    await query(addText, [`[${pets.join(",")}]`]);
    await query(rememberText, [JSON.stringify(hashes)]);
    await query(correctText, [`[${corrections.map((one) => petText(one.text!, one)).join(",")}]`]);
    await query(changeText, [JSON.stringify(changes)]);
    await query(removeText, [JSON.stringify(removals)]);
  }
}

function petText(text: string, { status, version }: State): string {
  return `${text}${status}","version":${version}}`;
}

function partition<Item>(items: readonly Item[], isFirst: (item: Item) => boolean): readonly [Item[], Item[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
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
