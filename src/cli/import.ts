/**
 * `import FILE`: adds the animals of a JSON-lines file, each validated as the API does. The file may be larger than
 * memory, so it is read twice: once to validate every line, once to add them. A catalogue or a data folder is moved
 * into a database instead (database-files.ts).
 */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createReadStream, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { bounds } from "../base/bounds.ts";
import { reportProgress, systemClock } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import { becomeOwner } from "../disk/as-owner.ts";
import type { DiskFile } from "../disk/disk.ts";
import { appendAll, readBytes, readLines, upTo } from "../disk/file-bytes.ts";
import { explain } from "../disk/file-errors.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { folderAdder } from "../folder/folder-adder.ts";
import { addBatch, type Added, batchLength } from "../pets/add-in-batches.ts";
import { type Reading, readNewPet } from "../pets/new-pet.ts";
import { OutcomeUnknownError } from "../pets/pet-store.ts";
import type { NewPet } from "../pets/pet.ts";
import type { Source } from "../transfer/import-to-postgres.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";
import { readStorage, type Storage } from "./settings.ts";
import { exitDone, type Terminal, workReport } from "./terminal.ts";

/** Called when a signal shall no longer end the program at once. */
type StopSignal = () => AbortSignal;

const catalogueStart = '{"id":';
/** How many invalid lines are listed at most. */
const namedFaultsMax = 20;

/** Resolves to the exit code. @throws {UsageError} @throws {Error} not all animals could be added */
export async function importAnimals(
  args: readonly string[],
  terminal: Terminal,
  stopSignal: StopSignal = () => new AbortController().signal,
): Promise<number> {
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
  // All of it is opened before root becomes the owner of the data folder.
  const pipe = isPipe ? createReadStream(path) : undefined;
  await (pipe && once(pipe, "open"));
  const input = isInput ? terminal.stdin() : pipe;
  const source = input === undefined ? await nodeDisk.openToRead(path) : undefined;
  await (storage.kind === "folder" && becomeOwner(storage.dataDir));
  const file = input === undefined ? source : await keepInput(input, path, storage);
  if (file === undefined) {
    throw new Error(`Cannot import ${path}: there is no such file`);
  }
  try {
    terminal.stdout(`imported ${await importFrom({ path, file }, storage, terminal, stopSignal)}\n`);
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
    let byteCount = 0;
    for await (const bytes of input) {
      await appendAll(file, bytes);
      byteCount += bytes.length;
    }
    return { ...file, size: () => byteCount };
  } catch (error) {
    await file?.close();
    const reason = messageOf(explain(error));
    throw new Error(`Cannot copy ${path} to a temporary file: ${reason}; nothing was imported`, { cause: error });
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
async function importFrom(
  source: Source,
  storage: Storage,
  terminal: Terminal,
  stopSignal: StopSignal,
): Promise<string> {
  const { path, file } = source;
  const kind = await kindOf(file);
  if (kind === "animals" || (kind === "catalogue" && storage.kind === "folder")) {
    const bounded = { path, file: upTo(file, file.size()) }; // A program that is still writing to it makes it longer.
    const animalCount = await countValid(bounded, terminal);
    const stopping = stopSignal(); // Until now a signal ends the program at once: nothing was added.
    await withAdder(storage, terminal, stopping, (add) => addAll(bounded, animalCount, add, terminal, stopping));
    return pluralize(animalCount, "animal");
  }
  if (storage.kind === "folder") {
    throw new UsageError(`Cannot import ${path}: it is a folder; to move it, name a database with --database`);
  }
  const { importCatalogue, importFolder } = await import("./database-files.ts");
  return kind === "folder" ? importFolder(path, storage, terminal) : importCatalogue(source, storage, terminal);
}

/** "catalogue": a pets.jsonl. Its lines begin with an id, which a NewPet does not have. */
async function kindOf(file: Source["file"]): Promise<"folder" | "catalogue" | "animals"> {
  try {
    const head = await readBytes(file, catalogueStart.length);
    return head.toString() === catalogueStart ? "catalogue" : "animals";
  } catch (error) {
    if (hasCode(error, "EISDIR")) {
      return "folder";
    }
    throw error;
  }
}

/** Resolves to the number of animals. @throws {Error} some are invalid, of which it has named the first */
async function countValid(source: Source, terminal: Terminal): Promise<number> {
  const { path } = source;
  let [lineCount, animalCount, faultCount] = [0, 0, 0];
  for await (const [lineNumber, reading] of readAnimals(source)) {
    lineCount = lineNumber;
    animalCount++;
    if (reading.kind !== "valid" && ++faultCount <= namedFaultsMax) {
      terminal.stderr(`${path} line ${lineNumber}: ${reading.message}\n`);
    }
  }
  if (faultCount > 0) {
    const more = faultCount > namedFaultsMax ? `the first ${namedFaultsMax} are named; ` : "";
    const are = faultCount === 1 ? "is" : "are";
    const faults = `${faultCount} of ${pluralize(lineCount, "line")} ${are} not valid`;
    throw new Error(`Cannot import ${path}: ${faults}; ${more}nothing was imported`);
  }
  return animalCount;
}

type Add = (newPets: readonly NewPet[]) => Promise<Added>;

/** Into the catalogue of a database or a folder, or through the process that holds the folder. */
async function withAdder(
  storage: Storage,
  terminal: Terminal,
  stopping: AbortSignal,
  use: (add: Add) => Promise<void>,
): Promise<void> {
  if (storage.kind === "database") {
    const { withDatabase } = await import("./database.ts");
    const { PostgresPetStore } = await import("../postgres/postgres-pet-store.ts");
    return withDatabase(storage, { work: "make", report: terminal.report }, (database) => {
      const store = new PostgresPetStore(database, systemClock);
      return use((newPets) => addBatch(store, newPets));
    });
  }
  const { dataDir } = storage;
  await nodeDisk.makeFolder(dataDir);
  const report = workReport(terminal);
  const adder = folderAdder({ disk: nodeDisk, clock: systemClock, dataDir, report }, stopping);
  await use((newPets) => adder.add(newPets)).finally(() => adder.close());
}

/** @throws {Error} not all were added. The message says which lines were, and which may be, and how to go on */
async function addAll(
  source: Source,
  animalCount: number,
  add: Add,
  terminal: Terminal,
  stopping: AbortSignal,
): Promise<void> {
  const { path } = source;
  const report = workReport(terminal);
  const onProgress = reportProgress(systemClock, (count) =>
    report(`importing ${path}: ${Math.floor((count / animalCount) * 100)} %`));
  await add([]); // Finds who holds the folder, before the file is read again.
  const changed = new Error("the file changed while it was read");
  let batch: { readonly lineNumber: number; readonly newPet: NewPet }[] = [];
  let addedCount = 0;
  let addedLine = 0;
  const finish = async (): Promise<void> => {
    if (stopping.aborted) {
      throw new Error("a signal has ended it");
    }
    const added = await add(batch.map(({ newPet }) => newPet));
    addedCount += added.addedCount;
    addedLine = batch[added.addedCount - 1]?.lineNumber ?? addedLine;
    if (added.failure !== undefined) {
      throw added.failure;
    }
    batch = [];
    onProgress(addedCount);
  };
  try {
    for await (const [lineNumber, reading] of readAnimals(source)) {
      if (reading.kind !== "valid" || addedCount + batch.length === animalCount) {
        throw changed;
      }
      batch.push({ lineNumber, newPet: reading.value });
      if (batch.length === batchLength) {
        await finish();
      }
    }
    if (addedCount + batch.length !== animalCount) {
      throw changed;
    }
    await (batch.length > 0 && finish());
  } catch (error) {
    const lastLine = batch.at(-1)?.lineNumber ?? addedLine;
    const isUnknown = error instanceof OutcomeUnknownError;
    const others = isUnknown ? `lines ${addedLine + 1} to ${lastLine} may have been added too` : "no others";
    const next = `to go on: tail -n +${addedLine + 1} FILE | animal-store import -`;
    const advice = isUnknown ? `look for them before you go on with line ${lastLine + 1}` : next;
    const upTo = addedLine > 0 ? `, up to line ${addedLine}` : "";
    const added = `added the first ${addedCount} of ${pluralize(animalCount, "animal")}${upTo}, ${others}`;
    const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : "";
    const end = addedLine > 0 || isUnknown ? `; ${advice}` : "";
    throw new Error(`Cannot import all of ${path}: ${messageOf(error)}${cause}; ${added}${end}`, { cause: error });
  }
}

/** The lines that are not blank, by their numbers from 1. */
async function* readAnimals({ file }: Source): AsyncGenerator<readonly [lineNumber: number, Reading<NewPet>]> {
  let lineNumber = 0;
  for await (const line of readLines(file, bounds.contentBytesMax)) {
    lineNumber++;
    if (!isBlank(line)) {
      yield [lineNumber, validateLine(line)];
    }
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
