/**
 * Moves the files of a data folder into an empty database, ids kept. They are read and checked as by a start. All of it
 * happens in one transaction of the caller: if anything fails, nothing has been moved.
 */

import { join } from "node:path";

import { type Clock, reportProgress } from "../base/clock.ts";
import type { Disk } from "../disk/disk.ts";
import { counted } from "../base/error-message.ts";
import type { ReadableFile } from "../disk/file-bytes.ts";
import { readWholeFile } from "../disk/replace-file.ts";
import { applyKeyLines } from "../keys/key-reader.ts";
import { keyFileName } from "../keys/key-file.ts";
import { Keyring } from "../keys/keyring.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { readSavedLimits, restoreLimits } from "../limits/limits-file.ts";
import { petStatuses } from "../pets/pet.ts";
import { idempotencyHashCharacters, idempotencySecondsMax } from "../store/idempotency-table.ts";
import { damageText, loadPets, petFileName, type PetSink, tornText } from "../store/load-pets.ts";
import type { Query } from "./database.ts";
import { writeLimits } from "./limits-table.ts";

export interface MoveOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly report: (message: string) => void;
}

export interface Moved {
  readonly animalCount: number;
  readonly keyCount: number;
}

/** Bytes of lines that go into one statement: some thousand animals. */
const pieceBytesMax = 524_288;

/** @throws {Error} a file is damaged where a start would refuse it, or the database has an animal or a key */
export async function moveFolderIn(query: Query, folder: string, options: MoveOptions): Promise<Moved> {
  const keyCount = await moveKeysIn(query, folder, options);
  const path = join(folder, petFileName);
  const file = await options.disk.openToRead(path);
  if (file === undefined) {
    await claimCatalogue(query);
    return { animalCount: 0, keyCount };
  }
  try {
    return { animalCount: await moveCatalogueIn(query, { path, file }, options), keyCount };
  } finally {
    await file.close();
  }
}

export interface Source {
  readonly path: string;
  readonly file: ReadableFile;
}

/** Resolves to the number of animals. @throws {Error} the log is damaged, or the database has an animal */
export async function moveCatalogueIn(
  query: Query,
  { path, file }: Source,
  { clock, report }: MoveOptions,
): Promise<number> {
  await claimCatalogue(query);
  const copy = new CatalogueCopy(query, Math.floor(clock.wallMs() / 1_000) - idempotencySecondsMax);
  const sizeBytes = file.size();
  // What was read is inserted before more is read, so memory stays bounded.
  const end = await loadPets(inPieces(file, () => copy.flush()), copy, {
    idempotentAdds: copy,
    to: sizeBytes,
    onProgress: reportProgress(clock, (bytes) => {
      report(`importing ${path}: ${Math.floor((bytes / sizeBytes) * 100)} %`);
    }),
  });
  if (end.kind === "corrupt") {
    throw new Error(damageText(path, end));
  }
  if (end.kind === "torn") {
    report(`warning: ${tornText(path, end)}; the animals before them are imported`);
  }
  await copy.flush();
  await query("UPDATE animal_store.counter SET last = $1", [end.lineCount]);
  return end.lineCount;
}

/** Keeps others from adding animals until the transaction ends. @throws {Error} there is one */
async function claimCatalogue(query: Query): Promise<void> {
  const [row] = await query("SELECT last::text AS last FROM animal_store.counter FOR UPDATE");
  const count = Number(row?.["last"]);
  if (count > 0) {
    throw new Error(`the database has ${counted(count, "animal")}, and ids are kept in an empty one only`);
  }
}

function inPieces(file: ReadableFile, beforeRead: () => Promise<void>): ReadableFile {
  return {
    async read(target, position) {
      await beforeRead();
      return file.read(target.subarray(0, pieceBytesMax), position);
    },
    size: () => file.size(),
  };
}

const addText = `INSERT INTO animal_store.pets (id, name, category_id, status)
  SELECT $1::bigint + place, name, category_id, status
  FROM unnest($2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY AS one(name, category_id, status, place)`;
const rememberText = `INSERT INTO animal_store.once (hash, pet_id, at)
  SELECT hash, pet_id, least(now(), to_timestamp(at)) FROM unnest($1::text[], $2::bigint[], $3::float8[])
    AS one(hash, pet_id, at)
  ON CONFLICT (hash) DO UPDATE SET pet_id = excluded.pet_id, at = excluded.at`;

/** Takes animals and idempotency hashes as they are read, and inserts them when it is flushed. */
class CatalogueCopy implements PetSink {
  readonly #query: Query;
  readonly #oldestSeconds: number;
  #count = 0;
  #names: string[] = [];
  #categoryIds: string[] = [];
  #statuses: string[] = [];
  /** If a hash was used again, the later animal counts. */
  #hashes = new Map<string, { readonly id: number; readonly atSeconds: number }>();

  /** @param oldestSeconds hashes of this time and earlier are not moved; Unix seconds */
  constructor(query: Query, oldestSeconds: number) {
    this.#query = query;
    this.#oldestSeconds = oldestSeconds;
  }

  /** The text is what `newPetToJson` writes, without its closing brace. */
  append(bytes: DataView, start: number, end: number, statusIndex: number): void {
    const text = textOf(bytes, start, end);
    const nameStart = text.indexOf(',"name":') + ',"name":'.length;
    const nameEnd = text.lastIndexOf(',"categoryId":'); // A name's own quotes are escaped.
    this.#names.push(JSON.parse(text.slice(nameStart, nameEnd)) as string);
    this.#categoryIds.push(text.slice(nameEnd + ',"categoryId":'.length, text.lastIndexOf(',"status":')));
    this.#statuses.push(petStatuses[statusIndex]!); // It was read as one of them.
    this.#count += 1;
  }

  rememberSince(bytes: DataView, start: number, id: number, atSeconds: number): void {
    if (atSeconds > this.#oldestSeconds) {
      this.#hashes.set(textOf(bytes, start, start + idempotencyHashCharacters), { id, atSeconds });
    }
  }

  async flush(): Promise<void> {
    const [names, categoryIds, statuses, hashes] = [this.#names, this.#categoryIds, this.#statuses, this.#hashes];
    const earlierCount = this.#count - names.length;
    [this.#names, this.#categoryIds, this.#statuses, this.#hashes] = [[], [], [], new Map()];
    if (names.length > 0) {
      await this.#query(addText, [earlierCount, names, categoryIds, statuses]);
    }
    if (hashes.size > 0) {
      const values = [...hashes.values()];
      await this.#query(rememberText, [
        [...hashes.keys()],
        values.map(({ id }) => id),
        values.map(({ atSeconds }) => atSeconds),
      ]);
    }
  }
}

function textOf({ buffer, byteOffset }: DataView, start: number, end: number): string {
  return Buffer.from(buffer, byteOffset + start, end - start).toString();
}

const appendText = `INSERT INTO animal_store.key_events (seq, line)
  SELECT place, line FROM unnest($1::text[]) WITH ORDINALITY AS one(line, place)`;

/** Moves keys and limits. Resolves to the number of keys. @throws {Error} */
async function moveKeysIn(query: Query, folder: string, { disk, clock, report }: MoveOptions): Promise<number> {
  if ((await query("SELECT FROM animal_store.key_events LIMIT 1")).length > 0) {
    throw new Error("the database has keys, and a folder is moved into an empty one only");
  }
  const keyring = new Keyring({ clock });
  // If somebody makes a key meanwhile, one of the two waits, and finds that the number of its event is taken.
  const lines = await readKeyLines(join(folder, keyFileName), keyring, { disk, report });
  await query(appendText, [lines]);
  const saved = await readSavedLimits(disk, folder);
  if (typeof saved === "string") {
    report(`warning: limits.json ${saved}; all limits start unused`);
  } else if (saved !== undefined) {
    const limiter = new MemoryLimiter({ clock });
    restoreLimits(limiter, saved, (keyId) => keyring.get(keyId)?.unbannedMs);
    await writeLimits(query, limiter);
  }
  return keyring.list().length;
}

/** Returns the sound lines, applied to the keyring. @throws {Error} the file is damaged before its end */
async function readKeyLines(
  path: string,
  keyring: Keyring,
  { disk, report }: Pick<MoveOptions, "disk" | "report">,
): Promise<readonly string[]> {
  const content = (await readWholeFile(disk, path)) ?? Buffer.alloc(0);
  const { lengthBytes, fault } = await applyKeyLines(content, 0, keyring);
  if (fault?.kind === "corrupt") {
    throw new Error(`${path} ${fault.text}`);
  }
  if (fault !== undefined) {
    report(`warning: ${path} ${fault.text}; the keys before them are imported`);
  }
  return content.toString("utf8", 0, lengthBytes).split("\n").slice(0, -1);
}
