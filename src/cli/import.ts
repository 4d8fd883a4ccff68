/**
 * `import FILE`: adds the animals of a JSON-lines file of NewPet bodies, each validated as the API does (contract,
 * section 1). The file is read twice, so that its size does not matter: once to find every fault before anything is
 * added, once to add.
 */

import type { Disk } from "../disk/disk.ts";
import { claimFolder } from "../disk/folder-lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { bounds } from "../http/bounds.ts";
import { type NewPetReading, readNewPet } from "../pets/new-pet.ts";
import { OutcomeUnknownError } from "../pets/pet-store.ts";
import type { NewPet } from "../pets/pet.ts";
import { openPetStore } from "../store/json-lines-pet-store.ts";
import { parseFlags, UsageError } from "./flags.ts";
import { readLines } from "./read-lines.ts";
import { dataDirOf } from "./settings.ts";
import { exitDone, exitNotDone, type Terminal } from "./terminal.ts";

/** How many bad lines are named. */
const namedFaultsMax = 20;
const progressEvery = 10_000;

/** Resolves to the exit code. @throws {UsageError} */
export async function importAnimals(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, operands } = parseFlags(args, { data: "value" });
  const [path, ...more] = operands;
  if (path === undefined || more.length > 0) {
    throw new UsageError("Cannot import: name one JSON-lines file, as in import animals.jsonl");
  }
  const animalCount = await validateAll(path, terminal);
  if (animalCount === undefined) {
    return exitNotDone;
  }
  const dataDir = dataDirOf(values.get("data"), terminal.environment);
  const claim = await claimFolder(nodeDisk, dataDir);
  try {
    await addAll(path, animalCount, dataDir, terminal);
  } finally {
    await claim.release();
  }
  terminal.stdout(`imported ${animalCount} animals\n`);
  return exitDone;
}

/** @throws {Error} when not all could be added: it says how many were, so that somebody can go on from there */
async function addAll(path: string, animalCount: number, dataDir: string, terminal: Terminal): Promise<void> {
  const report = (message: string): void => terminal.stderr(`${message}\n`);
  const store = await openPetStore({ disk: nodeDisk, dataDir, report });
  let addedCount = 0;
  let nextProgress = progressEvery;
  try {
    await store.addAll(animals(path), (count) => {
      addedCount = count;
      if (addedCount >= nextProgress) {
        nextProgress += progressEvery;
        report(`added ${addedCount} of ${animalCount}`);
      }
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const others = error instanceof OutcomeUnknownError ? "and some of those after them may have been" : "no others";
    const added = `the first ${addedCount} of ${animalCount} animals were added, ${others}`;
    throw new Error(`Cannot import all of ${path}: ${reason}; ${added}`, { cause: error });
  } finally {
    await store.close();
  }
}

/** Resolves to how many animals the file holds; undefined when a line is bad, after naming the first of them. */
async function validateAll(path: string, terminal: Terminal): Promise<number | undefined> {
  let lineNumber = 0;
  let faultCount = 0;
  for await (const line of linesOf(path)) {
    lineNumber++;
    const validation = validateLine(line);
    if (validation.kind !== "valid" && ++faultCount <= namedFaultsMax) {
      terminal.stderr(`${path} line ${lineNumber}: ${validation.message}\n`);
    }
  }
  if (faultCount === 0) {
    return lineNumber;
  }
  const more = faultCount > namedFaultsMax ? `, ${faultCount - namedFaultsMax} more than are named` : "";
  terminal.stderr(`nothing imported: ${faultCount} of ${lineNumber} lines are not valid${more}\n`);
  return undefined;
}

async function* animals(path: string): AsyncGenerator<NewPet> {
  for await (const line of linesOf(path)) {
    const validation = validateLine(line);
    if (validation.kind !== "valid") {
      throw new Error("the file changed while it was read");
    }
    yield validation.value;
  }
}

async function* linesOf(path: string, disk: Disk = nodeDisk): AsyncGenerator<Uint8Array> {
  const file = await disk.openToRead(path);
  if (file === undefined) {
    throw new Error(`Cannot import ${path}: there is no such file`);
  }
  try {
    yield* readLines(file, bounds.contentBytesMax);
  } finally {
    await file.close();
  }
}

function validateLine(line: Uint8Array): NewPetReading {
  return line.length > bounds.contentBytesMax
    ? { kind: "invalid", message: `The line is longer than ${bounds.contentBytesMax} bytes.` }
    : readNewPet(line);
}
