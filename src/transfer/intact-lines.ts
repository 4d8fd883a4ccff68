/**
 * The intact lines of a damaged pets.jsonl, and which of them a salvage takes.
 *
 * A line is intact by its checksum, and its place is its number, wherever it is in the file: blocks may be moved or
 * doubled. Lines whose numbers and groups follow each other, in the order of the file, are a *run*. Two different lines
 * with one number are the work of two writers: of two runs that disagree the one with more lines is taken, and of the
 * other what comes before the first number that they disagree on. So memory is needed for each run, and not for each
 * line.
 */

import { endOfChecksummedLine } from "../base/checksum.ts";
import { type ReadableFile, readFully, upTo } from "../disk/file-bytes.ts";
import { chunkBytesMax, createChunk } from "../log/chunks.ts";
import { createPetLine, type PetLine, petLineBytesMax, readPetLine } from "../store/pet-line.ts";

const objectStart = Buffer.from('{"', "latin1");
/** Lines of keys.jsonl and limits.json have such checksums, too. A disk may have written them here. */
const otherStarts = ['{"event":', '{"version":'].map((text) => Buffer.from(text, "latin1"));
/** Of a run, every so many lines, the place is kept. */
const markLines = 1_024;

/** One object is used for all lines of an iteration. */
export interface IntactLine {
  /** Its text is `[start, end)`, without its newline. */
  readonly view: DataView;
  readonly start: number;
  readonly end: number;
  /** Where it begins in the file. */
  readonly offset: number;
  readonly line: PetLine;
}

/** `[first, next)` are numbers of lines, all others bytes of the file. */
interface Run {
  readonly first: number;
  next: number;
  readonly start: number;
  end: number;
  /** Between the intact line before the run and this, and between this and the one after it, no line is intact. */
  readonly damageStart: number;
  damageEnd: number;
  /** Where its lines number 0, `markLines`, … begin. */
  readonly marks: number[];
}

/** Some of the lines of a run. */
export interface Part {
  readonly run: Run;
  readonly first: number;
  readonly next: number;
}

export interface ChosenLines {
  readonly file: ReadableFile;
  /** By their numbers, none of which is in two parts. */
  readonly taken: readonly Part[];
  /** What disagrees with them. */
  readonly others: readonly Part[];
  /** Runs of which all lines are in others, too. */
  readonly copies: readonly Run[];
  /** Where the first intact line of the file begins, and its last one ends. */
  readonly firstStart: number;
  readonly lastEnd: number;
}

/** Reads the file up to its present end. @throws {Error} a newer release wrote a line */
export async function chooseLines(whole: ReadableFile): Promise<ChosenLines> {
  const file = upTo(whole, whole.size());
  const runs = await findRuns(file);
  const [firstStart, lastEnd] = [runs[0]?.start ?? 0, runs.at(-1)?.end ?? 0];
  runs.sort((one, other) => one.first - other.first);
  const taken: Part[] = [];
  const others: Part[] = [];
  const copies: Run[] = [];
  for (let index = 0; index < runs.length; ) {
    const from = index;
    for (let next = 0; index < runs.length && (index === from || runs[index]!.first < next); index++) {
      next = Math.max(next, runs[index]!.next); // The index is within the array.
    }
    // No other run has a number of these. Of runs of the same length the first in the file is taken.
    const rivals = runs.slice(from, index);
    rivals.sort((one, other) => lengthOf(other) - lengthOf(one) || one.start - other.start);
    const agreed: Part[] = [];
    for (const run of rivals) {
      const fork = await firstDisagreement(file, run, agreed);
      const left = withoutTaken({ run, first: run.first, next: fork }, agreed);
      agreed.push(...left);
      agreed.sort((one, other) => one.first - other.first);
      if (fork < run.next) {
        others.push({ run, first: fork, next: run.next });
      } else if (left.length === 0) {
        copies.push(run);
      }
    }
    taken.push(...agreed);
  }
  return { file, taken, others, copies, firstStart, lastEnd };
}

/** The lines of the part, in their order. */
export async function* linesOf(file: ReadableFile, { run, first, next }: Part): AsyncGenerator<IntactLine> {
  const from = run.marks[Math.floor((first - run.first) / markLines)]!; // There is one for each line.
  const to = run.marks[Math.ceil((next - run.first) / markLines)] ?? run.end;
  for await (const found of intactLines(file, from, to)) {
    if (found.line.number >= first && found.line.number < next) {
      yield found;
    }
  }
}

/** With its newline, which it may lack in the file. */
export function bytesOf({ view, start, end }: IntactLine): Buffer {
  return Buffer.concat([Buffer.from(view.buffer, view.byteOffset + start, end - start), Buffer.from("\n")]);
}

function lengthOf({ first, next }: Part | Run): number {
  return next - first;
}

async function findRuns(file: ReadableFile): Promise<Run[]> {
  const runs: Run[] = [];
  let run: Run | undefined;
  let lastGroup = 0;
  for await (const { line, start, end, offset } of intactLines(file, 0, file.size())) {
    const { number, group } = line;
    if (run === undefined || number !== run.next || (group !== number && group !== lastGroup)) {
      const damageStart: number = run?.end ?? 0;
      if (run !== undefined) {
        run.damageEnd = offset;
      }
      run = { first: number, next: number, start: offset, end: offset, damageStart, damageEnd: file.size(), marks: [] };
      runs.push(run);
    }
    if ((number - run.first) % markLines === 0) {
      run.marks.push(offset);
    }
    lastGroup = group;
    run.next = number + 1;
    run.end = offset + end - start + 1;
  }
  return runs;
}

async function* intactLines(whole: ReadableFile, from: number, to: number): AsyncGenerator<IntactLine> {
  const file = upTo(whole, to);
  const line = createPetLine();
  const { bytes, view } = createChunk(Math.min(chunkBytesMax, to - from + 1));
  for (let position = from, isLast = false; !isLast; ) {
    const count = await readFully(file, bytes, position);
    isLast = count < bytes.length;
    // The next chunk has the lines whole that begin further on.
    const startsEnd = isLast ? count : count - petLineBytesMax;
    const seen = bytes.subarray(0, count);
    let start = seen.indexOf(objectStart);
    while (start >= 0 && start < startsEnd) {
      const end = endOfChecksummedLine(view, start, Math.min(count, start + petLineBytesMax));
      if (end >= 0) {
        const fault = readPetLine(view, start, end, line);
        if (fault === undefined) {
          yield { view, start, end, offset: position + start, line };
        } else if (!otherStarts.some((other) => other.equals(seen.subarray(start, start + other.length)))) {
          throw new Error(`byte ${position + start}: ${fault.reason}`);
        }
      }
      start = seen.indexOf(objectStart, Math.max(end, start + 1));
    }
    position += Math.max(start, startsEnd);
  }
}

/** The first number of the run whose line is another one in what is taken already; else the one after its last. */
async function firstDisagreement(file: ReadableFile, run: Run, taken: readonly Part[]): Promise<number> {
  for (const part of taken) { // By their numbers.
    const first = Math.max(part.first, run.first);
    const next = Math.min(part.next, run.next);
    if (first < next) {
      const others = linesOf(file, { run: part.run, first, next });
      for await (const own of linesOf(file, { run, first, next })) {
        const { value: other } = await others.next();
        if (!other || !bytesOf(own).equals(bytesOf(other))) {
          return own.line.number;
        }
      }
    }
  }
  return run.next;
}

/** What is left of the part. */
function withoutTaken({ run, first, next }: Part, taken: readonly Part[]): Part[] {
  const left: Part[] = [];
  let from = first;
  for (const part of taken) {
    left.push({ run, first: from, next: Math.min(part.first, next) });
    from = Math.max(from, part.next);
  }
  left.push({ run, first: from, next });
  return left.filter((part) => lengthOf(part) > 0);
}
