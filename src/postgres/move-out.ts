/**
 * Writes what a database holds as the files of a data folder, ids kept, as of one instant.
 */

import { reportProgress } from "../disk/clock.ts";
import type { Disk, DiskFile } from "../disk/disk.ts";
import { appendAll } from "../disk/file-bytes.ts";
import { keyFileName } from "../keys/key-store.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { limitsFileName, snapshotPieces } from "../limits/limits-file.ts";
import { viewOf } from "../log/checksum.ts";
import { newPetToJson, type PetStatus } from "../pets/pet.ts";
import { petFileName } from "../store/load-pets.ts";
import { createPetLine, encodePetLine, petLineBytesMax } from "../store/pet-line.ts";
import type { Query } from "./database.ts";
import { readLimits } from "./limits-table.ts";
import type { Moved, MoveOptions } from "./move-in.ts";
import type { Row } from "./pool.ts";

/** The files of a data folder. */
export const movedFileNames: readonly string[] = [keyFileName, limitsFileName, petFileName];

const rowsMax = 5_000;
const bufferBytes = 1_048_576;

/**
 * Writes the files under the names that `pathOf` gives. They are synced, their names are not.
 *
 * @param query of a transaction that has not run a statement yet
 */
export async function moveOut(
  query: Query,
  pathOf: (name: string) => string,
  options: MoveOptions,
): Promise<Moved> {
  const { disk, clock } = options;
  await query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  const keyRows = await query("SELECT line FROM animal_store.key_events ORDER BY seq");
  if (keyRows.length > 0) {
    await writeFile(disk, pathOf(keyFileName), async (append) => {
      await append(Buffer.from(keyRows.map(({ line }) => `${String(line)}\n`).join("")));
    });
  }
  const limiter = new MemoryLimiter({ clock });
  await readLimits(query, limiter);
  await writeFile(disk, pathOf(limitsFileName), async (append) => {
    for (const piece of snapshotPieces(limiter)) {
      await append(Buffer.from(piece));
    }
  });
  let animalCount = 0;
  await writeFile(disk, pathOf(petFileName), async (append) => {
    animalCount = await writeCatalogue(query, append, options);
  });
  const keyCount = keyRows.filter(({ line }) => String(line).startsWith('{"event":"made"')).length;
  return { animalCount, keyCount };
}

type Append = (bytes: Uint8Array) => Promise<void>;

async function writeFile(disk: Disk, path: string, write: (append: Append) => Promise<void>): Promise<void> {
  const file: DiskFile = await disk.openToAppend(path);
  try {
    await write((bytes) => appendAll(file, bytes));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A pet has one hash at most. The plan of a cursor begins with the first rows instead of sorting all of them. */
const cursorText = `DECLARE exported NO SCROLL CURSOR FOR
  SELECT pets.id::text AS id, name, category_id::text AS category_id, status, hash,
    floor(extract(epoch FROM at))::text AS at_seconds
  FROM animal_store.pets LEFT JOIN animal_store.once ON pet_id = pets.id AND at > now() - interval '24 hours'
  ORDER BY pets.id`;

/** Resolves to the number of animals. */
async function writeCatalogue(query: Query, append: Append, { clock, report }: MoveOptions): Promise<number> {
  const [counter] = await query("SELECT last::text AS last FROM animal_store.counter");
  const total = Number(counter?.["last"]);
  const lines = new CatalogueLines(append);
  const onProgress = reportProgress(clock, (count) => report(`exported ${count} of ${total} animals`));
  await query(cursorText);
  for (;;) {
    const rows = await query(`FETCH ${rowsMax} FROM exported`);
    for (const row of rows) {
      await lines.add(row);
    }
    if (rows.length < rowsMax) {
      break;
    }
    onProgress(lines.count);
  }
  await lines.flush();
  if (lines.count !== total) {
    throw new Error(`Cannot export: the database has ${lines.count} animals, and its counter says ${total}`);
  }
  return total;
}

/** Each animal is a group of its own: the file gets its name only once it is synced, so no line of it can be torn. */
class CatalogueLines {
  readonly #append: Append;
  readonly #line = createPetLine();
  readonly #bytes: Buffer = Buffer.alloc(bufferBytes);
  readonly #view: DataView = viewOf(this.#bytes);
  #end = 0;
  #count = 0;

  constructor(append: Append) {
    this.#append = append;
  }

  get count(): number {
    return this.#count;
  }

  async add({ id, name, category_id: categoryId, status, hash, at_seconds: atSeconds }: Row): Promise<void> {
    if (this.#end + petLineBytesMax > this.#bytes.length) {
      await this.flush();
    }
    this.#count += 1;
    if (Number(id) !== this.#count) {
      throw new Error(`Cannot export: animal ${this.#count} is missing in the database`);
    }
    const pet = { name: String(name), categoryId: BigInt(String(categoryId)), status: status as PetStatus };
    const line = this.#line;
    line.id = this.#count;
    line.group = this.#count;
    line.atSeconds = Number(atSeconds);
    const once = hash === null ? undefined : String(hash);
    const written = { bytes: this.#bytes, view: this.#view };
    this.#end = encodePetLine(written, this.#end, newPetToJson(this.#count, pet), line, once);
  }

  async flush(): Promise<void> {
    await this.#append(this.#bytes.subarray(0, this.#end));
    this.#end = 0;
  }
}
