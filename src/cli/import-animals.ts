/**
 * Reads the animals of a JSON-lines file and adds them to a store. The file may be larger than memory, so it is read
 * twice: once to validate every line, before the first animal is added, and once to add them.
 */

import { bounds } from "../base/bounds.ts";
import { reportProgress, systemClock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import { type ReadableFile, readLines } from "../disk/file-bytes.ts";
import { type Added, batchLength } from "../pets/add-in-batches.ts";
import { readNewPet } from "../pets/new-pet.ts";
import { OutcomeUnknownError } from "../pets/pet-store.ts";
import type { NewPet } from "../pets/pet.ts";
import { type Terminal, workReport } from "./terminal.ts";

export interface Source {
  /** As messages name it. */
  readonly path: string;
  readonly file: ReadableFile;
}

interface NumberedPet {
  /** The number of its line, from 1. */
  readonly lineNumber: number;
  readonly newPet: NewPet;
}

/** How many invalid lines are listed at most. */
const namedFaultsMax = 20;

/** Resolves to the number of animals. @throws {Error} some are invalid, the first of which it has printed */
export async function countValid(source: Source, terminal: Terminal): Promise<number> {
  const { path } = source;
  let [animalCount, faultCount] = [0, 0];
  const lineCount = await readInBatches(source, {
    takeFault(lineNumber, message) {
      faultCount++;
      if (faultCount <= namedFaultsMax) {
        terminal.stderr(`${path} line ${lineNumber}: ${message}\n`);
      }
    },
    async takeBatch({ length }) {
      animalCount += length;
    },
  });
  if (faultCount > 0) {
    const more = faultCount > namedFaultsMax ? `the first ${namedFaultsMax} are named; ` : "";
    const are = faultCount === 1 ? "is" : "are";
    const faults = `${faultCount} of ${pluralize(lineCount, "line")} ${are} not valid`;
    throw new Error(`Cannot import ${path}: ${faults}; ${more}nothing was imported`);
  }
  return animalCount;
}

export interface AddOptions {
  /** What `countValid` resolved to. */
  readonly animalCount: number;
  readonly add: (newPets: readonly NewPet[]) => Promise<Added>;
  /** A command that goes on from the line. */
  readonly commandFrom: (lineNumber: number) => string;
  readonly terminal: Terminal;
  readonly stopping: AbortSignal;
}

/** @throws {Error} not all were added. The message says which lines were, and which may be, and how to go on */
export async function addAll(source: Source, options: AddOptions): Promise<void> {
  const { animalCount, add, commandFrom, terminal, stopping } = options;
  const { path } = source;
  const onProgress = reportProgress(systemClock, workReport(terminal), `importing ${path}`, animalCount);
  const { failure } = await add([]); // Finds who holds the folder, before the file is read again.
  if (failure !== undefined) {
    // It was asked to add nothing, so that is what it has done, also if it has not answered.
    const reason = failure instanceof OutcomeUnknownError ? "who holds the folder does not answer" : messageOf(failure);
    throw new Error(`Cannot import ${path}: ${reason}; nothing was imported`, { cause: failure });
  }
  const failChanged = (): never => {
    throw new Error("the file changed while it was read");
  };
  let addedCount = 0;
  let addedLine = 0;
  let triedLine = 0;
  const takeBatch = async (batch: readonly NumberedPet[]): Promise<void> => {
    stopping.throwIfAborted();
    if (batch.length !== Math.min(batchLength, animalCount - addedCount)) {
      failChanged();
    }
    triedLine = batch.at(-1)?.lineNumber ?? addedLine;
    const added = await add(batch.map(({ newPet }) => newPet));
    addedCount += added.addedCount;
    addedLine = batch[added.addedCount - 1]?.lineNumber ?? addedLine;
    if (added.failure !== undefined) {
      throw added.failure;
    }
    onProgress(addedCount);
  };
  try {
    await readInBatches(source, { takeFault: failChanged, takeBatch });
    if (addedCount < animalCount) {
      failChanged();
    }
  } catch (error) {
    const progress = { animalCount, addedCount, addedLine, triedLine };
    throw new Error(`Cannot import all of ${path}: ${failureInWords(error, progress, commandFrom)}`, { cause: error });
  }
}

/** `addedLine` is that of the last animal that was added, 0 if none was; `triedLine` the last one that was sent. */
type Progress = Readonly<Record<"animalCount" | "addedCount" | "addedLine" | "triedLine", number>>;

/** Why not all animals were added, which were, which may be, and how to go on. */
function failureInWords(error: unknown, progress: Progress, commandFrom: AddOptions["commandFrom"]): string {
  const { animalCount, addedCount, addedLine, triedLine } = progress;
  const isUnknown = error instanceof OutcomeUnknownError;
  const to = addedLine > 0 ? `, up to line ${addedLine}` : "";
  const others = isUnknown ? `lines ${addedLine + 1} to ${triedLine} may have been added too` : "no others";
  const advice = isUnknown
    ? `; look for them before you go on with line ${triedLine + 1}`
    : addedLine > 0 ? `; to go on: ${commandFrom(addedLine + 1)}` : "";
  const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : "";
  const added = `added the first ${addedCount} of ${pluralize(animalCount, "animal")}${to}`;
  return `${messageOf(error)}${cause}; ${added}, ${others}${advice}`;
}

interface Taker {
  readonly takeFault: (lineNumber: number, message: string) => void;
  /** All but the last batch have `batchLength` animals. */
  readonly takeBatch: (batch: readonly NumberedPet[]) => Promise<void>;
}

/** Resolves to the number of lines. Blank lines are skipped. */
async function readInBatches({ file }: Source, { takeFault, takeBatch }: Taker): Promise<number> {
  let lineNumber = 0;
  let batch: NumberedPet[] = [];
  for await (const line of readLines(file, bounds.contentBytesMax)) {
    lineNumber++;
    if (isBlank(line)) {
      continue;
    }
    const reading = line.length > bounds.contentBytesMax ? tooLong : readNewPet(line);
    if (reading.kind !== "valid") {
      takeFault(lineNumber, reading.message);
      continue;
    }
    batch.push({ lineNumber, newPet: reading.value });
    if (batch.length === batchLength) {
      await takeBatch(batch);
      batch = [];
    }
  }
  await (batch.length > 0 && takeBatch(batch));
  return lineNumber;
}

const tooLong = { kind: "invalid", message: `The line is longer than ${bounds.contentBytesMax} bytes.` } as const;

/** Whether the line has nothing but JSON's white space. */
function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
