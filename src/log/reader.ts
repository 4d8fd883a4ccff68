/**
 * Reads an append-only log of lines with checksums, and distinguishes a torn tail, which a crash may leave, from
 * corruption.
 *
 * Lines are written in groups, and a group is synced before the next one begins. So an intact line that begins a group,
 * or belongs to a later group than the damage, proves that all lines before its group were synced: no crash caused that
 * damage, and the log is corrupt. Damage with no such line after it is a torn tail, from the first damage on. Lines in
 * it may look intact, since the pages of a group reach the disk in any order. A crash damages one group at most.
 */

import { endOfChecksummedLine, type LineFault } from "../base/checksum.ts";
import { type ReadableFile, readFully, upTo } from "../disk/file-bytes.ts";
import { type Chunk, chunkBytesMax, Chunks, createChunk } from "./chunks.ts";

/** What a line means to the owner of the log. */
export interface LineReader {
  /** Takes the next line `[start, end)`, without its newline. Returns undefined if it is intact. */
  take(bytes: DataView, start: number, end: number): LineFault | undefined;
  /** The longest line that may prove anything. */
  readonly lineBytesMax: number;
  /** Whether the line `[start, end)`, whose checksum is right, proves that the one after the last taken was synced. */
  provesEarlierLines(bytes: DataView, start: number, end: number): boolean;
}

/** How a log ends. Offsets and lengths are in bytes from the start of the file. */
export type LogEnd = WholeEnd | TornEnd | CorruptEnd;

interface WholeEnd {
  readonly kind: "whole";
  readonly lengthBytes: number;
  readonly lineCount: number;
}

/** Length and lines are those of the intact part. */
export interface TornEnd extends Omit<WholeEnd, "kind"> {
  readonly kind: "torn";
  readonly tornBytes: number;
  readonly reason: string;
}

export interface CorruptEnd {
  readonly kind: "corrupt";
  /** Counted from 1. */
  readonly lineNumber: number;
  readonly offset: number;
  readonly reason: string;
}

export interface ReadLogOptions {
  /** The longest tail that a crash can damage: one group. A longer one is corruption. */
  readonly tornBytesMax: number;
  readonly onProgress?: (bytesRead: number) => void;
  /** Ends the reading at the next chunk. */
  readonly signal?: AbortSignal | undefined;
}

/** The longest line, without its newline. A longer one is damage. */
export const lineBytesMax = 65_536;

const newline = 0x0a;
const objectStart = Buffer.from('{"', "latin1");

/**
 * Gives each line to `reader` in order, up to the end that the file has now, or the first fault.
 * @throws {Error} the disk's: it may pass, so this is no torn tail; or the reason of `signal`
 */
export async function readLog(log: ReadableFile, reader: LineReader, options: ReadLogOptions): Promise<LogEnd> {
  const scan = new LineScan(reader);
  const file = upTo(log, log.size()); // A running server's half-written line would look damaged if more followed.
  const chunks = new Chunks(file, lineBytesMax);
  try {
    for (let count = await chunks.next(0); count > 0; count = await chunks.next(scan.restBytes)) {
      options.signal?.throwIfAborted();
      scan.run(chunks.current, chunks.start - scan.restBytes, chunks.start + count);
      if (scan.fault !== undefined) {
        break;
      }
      options.onProgress?.(scan.offset + scan.restBytes);
    }
  } finally {
    await chunks.settle(); // The caller may close the file.
  }
  const { offset, lineCount } = scan;
  if (scan.fault === undefined && scan.restBytes === 0) {
    return { kind: "whole", lengthBytes: offset, lineCount };
  }
  const { kind, reason } = scan.fault ?? { kind: "damage", reason: "the last line has no newline" };
  const corrupt = (why: string): LogEnd => ({ kind: "corrupt", lineNumber: lineCount + 1, offset, reason: why });
  if (kind === "wrong") {
    return corrupt(reason);
  }
  for await (const found of findLines(file, offset + 1, reader.lineBytesMax)) {
    options.signal?.throwIfAborted();
    if (reader.provesEarlierLines(found.view, found.start, found.end)) {
      const proof = `an intact line at byte ${found.offset} shows that this is damage, and no unfinished write`;
      return corrupt(`${reason}; ${proof}`);
    }
  }
  const tornBytes = file.size() - offset;
  const { tornBytesMax } = options;
  if (tornBytes > tornBytesMax) {
    return corrupt(`${reason}; the damaged end has ${tornBytes} bytes, and a crash damages ${tornBytesMax} at most`);
  }
  return { kind: "torn", lengthBytes: offset, lineCount, tornBytes, reason };
}

export function damageText(path: string, { lineNumber, offset, reason }: CorruptEnd): string {
  return `${path} is damaged at line ${lineNumber}, byte ${offset}: ${reason}`;
}

export function tornText(path: string, { lineCount, tornBytes, reason }: TornEnd): string {
  const place = `of ${path}, from line ${lineCount + 1} on,`;
  const last = tornBytes === 1 ? `byte ${place} is` : `${tornBytes} bytes ${place} are`;
  return `the last ${last} an unfinished write (${reason})`;
}

/** Cuts chunks into lines, up to the first fault. */
class LineScan {
  readonly #reader: LineReader;
  /** Where the intact lines end in the file. */
  offset = 0;
  lineCount = 0;
  /** How many bytes at the end of the last chunk have no newline yet. */
  restBytes = 0;
  fault: LineFault | undefined;

  constructor(reader: LineReader) {
    this.#reader = reader;
  }

  run({ bytes, view }: Chunk, start: number, chunkEnd: number): void {
    let lineStart = start;
    for (let searchFrom = start + this.restBytes; ; searchFrom = lineStart) {
      const lineEnd = bytes.indexOf(newline, searchFrom);
      if (lineEnd < 0 || lineEnd >= chunkEnd) {
        break;
      }
      const byteCount = lineEnd - lineStart;
      const fault = byteCount === 0 ? blank : byteCount > lineBytesMax ? tooLong : undefined;
      this.fault = fault ?? this.#reader.take(view, lineStart, lineEnd);
      if (this.fault !== undefined) {
        return;
      }
      this.offset += byteCount + 1;
      this.lineCount++;
      lineStart = lineEnd + 1;
    }
    this.restBytes = chunkEnd - lineStart;
    if (this.restBytes > lineBytesMax) {
      this.fault = tooLong;
    }
  }
}

const blank: LineFault = { kind: "damage", reason: "a blank line" };
const tooLong: LineFault = { kind: "damage", reason: `a line of more than ${lineBytesMax} bytes` };

/** A line with a right checksum: `[start, end)` of `view`, without its newline. */
export interface FoundLine {
  readonly view: DataView;
  readonly start: number;
  readonly end: number;
  /** Where it begins in the file. */
  readonly offset: number;
}

/** Finds lines in what is damaged, from `from` on, also within another line: the newline before them may be lost. */
export async function* findLines(file: ReadableFile, from: number, bytesMax: number): AsyncGenerator<FoundLine> {
  const { bytes: window, view } = createChunk(Math.min(chunkBytesMax, Math.max(file.size() - from, 0) + 1));
  for (let position = from, isLast = false; !isLast; ) {
    const count = await readFully(file, window, position);
    isLast = count < window.length;
    // A line that begins further on may be cut by the window's end: the next window has it whole.
    const startsEnd = isLast ? count : count - bytesMax;
    const seen = window.subarray(0, count);
    let lineEnd = -1; // Searched only once for each line: junk may be full of bytes that look like starts.
    for (let start = -1; (start = seen.indexOf(objectStart, start + 1)) >= 0 && start < startsEnd; ) {
      if (lineEnd < start) {
        const found = seen.indexOf(newline, start);
        lineEnd = found < 0 ? count : found;
      }
      const end = endOfChecksummedLine(view, start, Math.min(lineEnd, start + bytesMax));
      if (end >= 0) {
        yield { view, start, end, offset: position + start };
      }
    }
    position += startsEnd;
  }
}
