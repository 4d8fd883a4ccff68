/**
 * `import FILE`: adds the animals of a JSON-lines file, each validated as the API does. The file may be larger than
 * memory, so it is read twice: once to validate every line, once to add them. A catalogue or a data folder is moved
 * into a database instead (database-files.ts).
 */

import { randomUUID } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { reportProgress, systemClock } from "../base/clock.ts";
import type { DiskFile } from "../disk/disk.ts";
import { counted } from "../base/counted.ts";
import { hasCode, messageOf } from "../base/error-message.ts";
import { appendAll, readFully, upTo } from "../disk/file-bytes.ts";
import { explain } from "../disk/file-errors.ts";
import { folderLockPath } from "../disk/lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { readLines } from "../disk/read-lines.ts";
import { addThroughDoor, workOrAsk } from "../folder/ask.ts";
import { openLockedFolder } from "../folder/engine.ts";
import { bounds } from "../base/bounds.ts";
import { type Reading, readNewPet } from "../pets/new-pet.ts";
import { OutcomeUnknownError } from "../pets/pet-store.ts";
import type { NewPet } from "../pets/pet.ts";
import type { Source } from "../moving/move-in.ts";
import { addBatch, type Added, addInBatches } from "../pets/add-in-batches.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";
import { type Storage, readStorage } from "./settings.ts";
import { exitDone, type Terminal, workReport } from "./terminal.ts";

const catalogueStart = '{"id":';
/** How many invalid lines are listed at most. */
const namedFaultsMax = 20;

/** Resolves to the exit code. @throws {UsageError} @throws {Error} not all animals could be added */
export async function importAnimals(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, operands } = parseFlags(args, ["data", "database"]);
  const [operand, ...more] = operands;
  if (operand === undefined || more.length > 0) {
    throw new UsageError("Cannot import: name one JSON-lines file, or - for standard input");
  }
  const storage = readStorage(values, terminal.environment);
  // /dev/stdin cannot be opened where it is a socket.
  const isInput = operand === "-" || operand === "/dev/stdin";
  const path = isInput ? "standard input" : operand;
  const isPipe = !isInput && statSync(path, { throwIfNoEntry: false })?.isFIFO() === true;
  const input = isInput ? terminal.stdin() : isPipe ? createReadStream(path) : undefined;
  const file = input === undefined ? await nodeDisk.openToRead(path) : await keepInput(input, path, storage);
  if (file === undefined) {
    throw new Error(`Cannot import ${path}: there is no such file`);
  }
  try {
    terminal.stdout(`imported ${await importFrom({ path, file }, storage, terminal)}\n`);
    return exitDone;
  } finally {
    await file.close();
  }
}

/** Standard input, or a pipe, as a file, since it is read twice. */
async function keepInput(input: AsyncIterable<Uint8Array>, path: string, storage: Storage): Promise<DiskFile> {
  let file: DiskFile | undefined;
  try {
    file = await openNameless(tmpdir()).catch(async (error: unknown) => {
      if (storage.kind !== "folder") {
        throw error;
      }
      await nodeDisk.makeFolder(storage.dataDir);
      return openNameless(storage.dataDir);
    });
    for await (const bytes of input) {
      await appendAll(file, bytes);
    }
    return file;
  } catch (error) {
    await file?.close();
    const reason = messageOf(explain(error));
    throw new Error(`Cannot keep ${path} in a file: ${reason}; nothing was imported`, { cause: error });
  }
}

/** The file loses its name before it gets content, so nothing is left behind, even after a `kill -9`. */
async function openNameless(folder: string): Promise<DiskFile> {
  const path = join(folder, `animal-store-import-${randomUUID()}`);
  const file = await nodeDisk.openToAppend(path);
  await nodeDisk.remove(path);
  return file;
}

/** Resolves to what was imported, in words. */
async function importFrom(source: Source, storage: Storage, terminal: Terminal): Promise<string> {
  const { path } = source;
  const kind = await kindOf(source.file);
  if (kind === "animals" || (kind === "catalogue" && storage.kind === "folder")) {
    return counted(await importNewPets(source, storage, terminal), "animal");
  }
  if (storage.kind === "folder") {
    throw new UsageError(`Cannot import ${path}: it is a folder; to move it, name a database with --database`);
  }
  const { importCatalogue, importFolder } = await import("./database-files.ts");
  return kind === "folder" ? importFolder(path, storage, terminal) : importCatalogue(source, storage, terminal);
}

/** "catalogue": a pets.jsonl. Its lines begin with an id, which a NewPet does not have. */
async function kindOf(file: Source["file"]): Promise<"folder" | "catalogue" | "animals"> {
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
  await withAdder(storage, terminal, (add) => addAll(source, animalCount, add, terminal));
  return animalCount;
}

/** Resolves to the number of animals. @throws {Error} some are invalid, of which it has named the first */
async function countValid({ path, file }: Source, terminal: Terminal): Promise<number> {
  let lineNumber = 0;
  let animalCount = 0;
  let faultCount = 0;
  for await (const line of readLines(file, bounds.contentBytesMax)) {
    lineNumber++;
    if (isBlank(line)) {
      continue;
    }
    animalCount++;
    const validation = validateLine(line);
    if (validation.kind !== "valid" && ++faultCount <= namedFaultsMax) {
      terminal.stderr(`${path} line ${lineNumber}: ${validation.message}\n`);
    }
  }
  if (faultCount > 0) {
    const more = faultCount > namedFaultsMax ? `the first ${namedFaultsMax} are named; ` : "";
    const are = faultCount === 1 ? "is" : "are";
    const faults = `${faultCount} of ${counted(lineNumber, "line")} ${are} not valid`;
    throw new Error(`Cannot import ${path}: ${faults}; ${more}nothing was imported`);
  }
  return animalCount;
}

type Add = (newPets: readonly NewPet[]) => Promise<Added>;

/** Into the catalogue of a database or a folder, or through the process that holds the folder. */
async function withAdder(storage: Storage, terminal: Terminal, use: (add: Add) => Promise<void>): Promise<void> {
  if (storage.kind === "database") {
    const { withDatabase } = await import("./database.ts");
    const { PostgresPetStore } = await import("../postgres/postgres-pet-store.ts");
    return withDatabase(storage, (database) => {
      const store = new PostgresPetStore(database, systemClock);
      return use((newPets) => addBatch(store, newPets));
    });
  }
  const { dataDir } = storage;
  await nodeDisk.makeFolder(dataDir);
  const work = async (): Promise<boolean | undefined> => {
    const lock = await nodeDisk.lock(folderLockPath(dataDir));
    if (lock === undefined) {
      return undefined;
    }
    const nothingElse = { store: undefined, signal: undefined, onGroup: () => undefined };
    const options = { disk: nodeDisk, clock: systemClock, dataDir, report: workReport(terminal), ...nothingElse };
    const engine = await openLockedFolder(lock, options);
    await use((newPets) => addBatch(engine.store, newPets)).finally(() => engine.close());
    return true;
  };
  const isDone = await workOrAsk(dataDir, work, async () => {
    const { failure } = await addThroughDoor(nodeDisk, dataDir, []); // Until it is answered, nothing has been done.
    if (failure !== undefined) {
      throw failure;
    }
    return false;
  });
  if (!isDone) {
    await use((newPets) => addThroughDoor(nodeDisk, dataDir, newPets));
  }
}

/** @throws {Error} not all were added. The message says how many were, so that an operator can continue from there */
async function addAll(source: Source, animalCount: number, add: Add, terminal: Terminal): Promise<void> {
  let addedCount = 0;
  const report = workReport(terminal);
  const onProgress = reportProgress(systemClock, (count) =>
    report(`importing ${source.path}: ${Math.floor((count / animalCount) * 100)} %`));
  try {
    await addInBatches(add, readAnimals(source, animalCount), (count) => {
      addedCount = count;
      onProgress(count);
    });
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
    if (isBlank(line)) {
      continue;
    }
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

/** A line of nothing but JSON's white space is skipped. */
function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

function validateLine(line: Uint8Array): Reading<NewPet> {
  return line.length > bounds.contentBytesMax
    ? { kind: "invalid", message: `The line is longer than ${bounds.contentBytesMax} bytes.` }
    : readNewPet(line);
}
