/**
 * `import FILE`: adds the animals of a JSON-lines file, each validated as the API does. The file may be larger than
 * memory, so it is read twice: once to validate every line, once to add them. A catalogue or a data folder is moved
 * into a database instead (database-files.ts).
 */

import type { DiskFile } from "../disk/disk.ts";
import { counted, hasCode, messageOf } from "../base/error-message.ts";
import { readFully, upTo } from "../disk/file-bytes.ts";
import { lockFolder } from "../disk/lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { readLines } from "../disk/read-lines.ts";
import { bounds } from "../base/bounds.ts";
import { type NewPetReading, readNewPet } from "../pets/new-pet.ts";
import { OutcomeUnknownError, type PetStore } from "../pets/pet-store.ts";
import type { NewPet } from "../pets/pet.ts";
import type { Source } from "../postgres/move-in.ts";
import { addInBatches } from "../store/add-in-batches.ts";
import { openPetStore } from "../store/json-lines-pet-store.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";
import { type Storage, readStorage } from "./settings.ts";
import { exitDone, exitFailure, type Terminal } from "./terminal.ts";

const catalogueStart = '{"id":';
/** How many invalid lines are listed at most. */
const namedFaultsMax = 20;
const progressEvery = 10_000;

/** Resolves to the exit code. @throws {UsageError} @throws {Error} not all animals could be added */
export async function importAnimals(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, operands } = parseFlags(args, ["data", "database"]);
  const [path, ...more] = operands;
  if (path === undefined || more.length > 0) {
    throw new UsageError("Cannot import: name one JSON-lines file, as in import animals.jsonl");
  }
  const storage = readStorage(values, terminal.environment);
  const file = await nodeDisk.openToRead(path);
  if (file === undefined) {
    throw new Error(`Cannot import ${path}: there is no such file`);
  }
  try {
    const source = { path, file };
    const kind = await kindOf(file);
    if (kind === "animals" || (kind === "catalogue" && storage.kind === "folder")) {
      return await importNewPets(source, storage, terminal);
    }
    if (storage.kind === "folder") {
      throw new UsageError(`Cannot import ${path}: it is a folder; to move it, name a database with --database`);
    }
    const { importCatalogue, importFolder } = await import("./database-files.ts");
    const report = (message: string): void => terminal.stderr(`${message}\n`);
    const moving = kind === "folder" ? importFolder(path, storage, report) : importCatalogue(source, storage, report);
    const { animalCount, keyCount } = await moving;
    const keys = kind === "folder" ? ` and ${counted(keyCount, "key")}` : "";
    terminal.stdout(`imported ${counted(animalCount, "animal")}${keys}\n`);
    return exitDone;
  } finally {
    await file.close();
  }
}

/** "catalogue": a pets.jsonl. Its lines begin with an id, which a NewPet does not have. */
async function kindOf(file: DiskFile): Promise<"folder" | "catalogue" | "animals"> {
  const head = Buffer.alloc(catalogueStart.length);
  try {
    await readFully(file, head, 0);
  } catch (error) {
    if (hasCode(error, "EISDIR")) {
      return "folder";
    }
    throw error;
  }
  return head.toString() === catalogueStart ? "catalogue" : "animals";
}

async function importNewPets({ path, file }: Source, storage: Storage, terminal: Terminal): Promise<number> {
  const source = { path, file: upTo(file, file.size()) }; // A program that is still writing to it may make it longer.
  const animalCount = await countValid(source, terminal);
  if (animalCount === undefined) {
    return exitFailure;
  }
  await withStore(storage, terminal, (store) => addAll(source, animalCount, store, terminal));
  terminal.stdout(`imported ${counted(animalCount, "animal")}\n`);
  return exitDone;
}

/** Names the first invalid lines and returns undefined if there are any. */
async function countValid({ path, file }: Source, terminal: Terminal): Promise<number | undefined> {
  let lineNumber = 0;
  let faultCount = 0;
  for await (const line of readLines(file, bounds.contentBytesMax)) {
    lineNumber++;
    const validation = validateLine(line);
    if (validation.kind !== "valid" && ++faultCount <= namedFaultsMax) {
      terminal.stderr(`${path} line ${lineNumber}: ${validation.message}\n`);
    }
  }
  if (faultCount === 0) {
    return lineNumber;
  }
  const more = faultCount > namedFaultsMax ? `; the first ${namedFaultsMax} are named` : "";
  const are = faultCount === 1 ? "is" : "are";
  terminal.stderr(`nothing imported: ${faultCount} of ${counted(lineNumber, "line")} ${are} not valid${more}\n`);
  return undefined;
}

async function withStore(storage: Storage, terminal: Terminal, use: (store: PetStore) => Promise<void>): Promise<void> {
  if (storage.kind === "database") {
    const { withDatabasePets } = await import("./database-files.ts");
    return withDatabasePets(storage, use);
  }
  const { dataDir } = storage;
  const lock = await lockFolder(nodeDisk, dataDir);
  try {
    const report = (message: string): void => terminal.stderr(`${message}\n`);
    const store = await openPetStore({ disk: nodeDisk, dataDir, report });
    try {
      await use(store);
    } finally {
      await store.close();
    }
  } finally {
    await lock.release();
  }
}

/** @throws {Error} not all were added. The message says how many were, so that an operator can continue from there */
async function addAll(source: Source, animalCount: number, store: PetStore, terminal: Terminal): Promise<void> {
  let addedCount = 0;
  let nextProgress = progressEvery;
  try {
    const onProgress = (count: number): void => {
      addedCount = count;
      if (addedCount >= nextProgress) {
        nextProgress += progressEvery;
        terminal.stderr(`added ${addedCount} of ${animalCount}\n`);
      }
    };
    await addInBatches(store, readAnimals(source, animalCount), onProgress);
  } catch (error) {
    const others = error instanceof OutcomeUnknownError ? "some of the others may have been added too" : "no others";
    const added = `added the first ${addedCount} of ${counted(animalCount, "animal")}, ${others}`;
    const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : "";
    throw new Error(`Cannot import all of ${source.path}: ${messageOf(error)}${cause}; ${added}`, { cause: error });
  }
}

/** @throws {Error} if the file changed after its validation */
async function* readAnimals({ file }: Source, animalCount: number): AsyncGenerator<NewPet> {
  let count = 0;
  for await (const line of readLines(file, bounds.contentBytesMax)) {
    const validation = validateLine(line);
    if (validation.kind !== "valid" || count === animalCount) {
      throw new Error("the file changed while it was read");
    }
    count++;
    yield validation.value;
  }
  if (count !== animalCount) {
    throw new Error("the file changed while it was read");
  }
}

function validateLine(line: Uint8Array): NewPetReading {
  return line.length > bounds.contentBytesMax
    ? { kind: "invalid", message: `The line is longer than ${bounds.contentBytesMax} bytes.` }
    : readNewPet(line);
}
