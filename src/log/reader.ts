/**
 * Reads an append-only log of sealed lines, from front to back, and tells an end that a crash tore from damage before
 * it (contract, section 7).
 *
 * The model: lines are written in groups, and a group is synced before the next one begins. So a sound line that begins
 * a group *vouches* for every line before it: those were whole on disk when it was written. Damage that is followed by
 * such a line cannot be a crash's work: the log is corrupt. Damage that is not is a torn end, from the first damage on,
 * however sound some lines after it look, since pages of the last group reach the disk in any order.
 *
 * What a line says is its owner's business (`LineReader`). Nothing here changes the file.
 */

import { type ReadableFile, readFully } from "../disk/file-bytes.ts";
import { viewOf } from "./checksum.ts";

export interface LineReader {
  /** Takes the next line `[start, end)`, its newline excluded; undefined when it is sound and taken. */
  take(bytes: DataView, start: number, end: number): LineFault | undefined;
  /**
   * Whether a sound line that begins a group stands at `start`, and ends at `end` or before it. Asked only after
   * damage, and there at each place where an object may begin, also within a line: the newline before it may be lost.
   */
  provesEarlierLines(bytes: DataView, start: number, end: number): boolean;
}

export interface LineFault {
  /** "damage" is what a crash or a flipped bit may leave; "wrong" is sound and yet cannot be: no crash did it. */
  readonly kind: "damage" | "wrong";
  readonly reason: string;
}

/** How a log ends. Offsets and lengths are in bytes from the start of the file. */
export type LogEnd =
  | { readonly kind: "whole"; readonly lengthBytes: number; readonly lineCount: number }
  | {
      readonly kind: "torn";
      /** Of the sound part. */
      readonly lengthBytes: number;
      readonly lineCount: number;
      readonly tornBytes: number;
      readonly reason: string;
    }
  | {
      readonly kind: "corrupt";
      /** From 1. */
      readonly lineNumber: number;
      readonly offset: number;
      readonly reason: string;
    };

export interface ReadLogOptions {
  /** The longest tail that a crash can damage: one group. A longer one is corruption. */
  readonly tornBytesMax: number;
  /** Byte to start from, where a line begins; lines are counted from there. */
  readonly from?: number;
  /** Byte to end at: what stands behind it is as if it were not there. */
  readonly to?: number;
  readonly onProgress?: (bytesRead: number) => void;
}

/** Nobody writes lines as long as this; what is longer is damage. The newline not counted. */
export const lineBytesMax = 65_536;

/** Long enough for the disk to stream, short enough to leave the event loop a turn every few milliseconds. */
const chunkBytesMax = 4_194_304;

const newline = 0x0a;
const objectStart = Buffer.from('{"', "latin1");

/** Gives each line to `reader` in order, up to the end or the first fault. */
export async function readLog(log: ReadableFile, reader: LineReader, options: ReadLogOptions): Promise<LogEnd> {
  const file = options.to === undefined ? log : upTo(log, options.to);
  const from = options.from ?? 0;
  const scan = new LineScan(reader, from);
  const chunks = new Chunks(file, from);
  for (let count = await chunks.next(0); count > 0; count = await chunks.next(scan.restBytes)) {
    scan.run(chunks.current, chunks.start - scan.restBytes, chunks.start + count);
    if (scan.fault !== undefined) {
      break;
    }
    options.onProgress?.(scan.offset + scan.restBytes);
  }
  await chunks.settle();
  const { offset, lineCount } = scan;
  if (scan.fault === undefined && scan.restBytes === 0) {
    return { kind: "whole", lengthBytes: offset, lineCount };
  }
  const { kind, reason } = scan.fault ?? { kind: "damage", reason: "the last line has no newline" };
  if (kind === "wrong") {
    return { kind: "corrupt", lineNumber: lineCount + 1, offset, reason };
  }
  const voucher = await findVoucher(file, reader, offset + 1);
  if (voucher !== undefined) {
    const later = `a sound line at byte ${voucher} shows that it was once whole on disk`;
    return { kind: "corrupt", lineNumber: lineCount + 1, offset, reason: `${reason}; ${later}` };
  }
  const tornBytes = file.size() - offset;
  if (tornBytes > options.tornBytesMax) {
    const size = `the damaged end has ${tornBytes} bytes, and a crash damages ${options.tornBytesMax} at most`;
    return { kind: "corrupt", lineNumber: lineCount + 1, offset, reason: `${reason}; ${size}` };
  }
  return { kind: "torn", lengthBytes: offset, lineCount, tornBytes, reason };
}

/** The file as far as `endBytes`. */
function upTo(file: ReadableFile, endBytes: number): ReadableFile {
  return {
    read: (target, position) => file.read(target.subarray(0, Math.max(endBytes - position, 0)), position),
    size: () => endBytes,
  };
}

/** Cuts chunks into lines, and stops at the first fault. */
class LineScan {
  readonly #reader: LineReader;
  /** Where the next line begins in the file: behind the last sound one. */
  offset: number;
  lineCount = 0;
  /** Bytes at the end of the last chunk that no newline ended. */
  restBytes = 0;
  fault: LineFault | undefined;

  constructor(reader: LineReader, offset: number) {
    this.#reader = reader;
    this.offset = offset;
  }

  run({ bytes, view }: Chunk, start: number, chunkEnd: number): void {
    let lineStart = start;
    let searchFrom = start + this.restBytes;
    for (;;) {
      const lineEnd = bytes.indexOf(newline, searchFrom);
      if (lineEnd < 0 || lineEnd >= chunkEnd) {
        break;
      }
      this.fault = this.#takeLine(view, lineStart, lineEnd);
      if (this.fault !== undefined) {
        return;
      }
      this.offset += lineEnd + 1 - lineStart;
      this.lineCount++;
      lineStart = lineEnd + 1;
      searchFrom = lineStart;
    }
    this.restBytes = chunkEnd - lineStart;
    if (this.restBytes > lineBytesMax) {
      this.fault = tooLong;
    }
  }

  #takeLine(bytes: DataView, start: number, end: number): LineFault | undefined {
    if (start === end) {
      return { kind: "damage", reason: "a blank line" };
    }
    return end - start > lineBytesMax ? tooLong : this.#reader.take(bytes, start, end);
  }
}

const tooLong: LineFault = { kind: "damage", reason: `a line of more than ${lineBytesMax} bytes` };

/** Bytes to read into and to search, and the same bytes for the reader of lines. */
interface Chunk {
  readonly bytes: Buffer;
  readonly view: DataView;
}

function createChunk(byteCount: number): Chunk {
  const bytes = Buffer.allocUnsafeSlow(byteCount);
  return { bytes, view: viewOf(bytes) };
}

/**
 * Two buffers: while one is being parsed, the other is being read into. Each has room in front of `start` for the line
 * that the chunk before it ended in the middle of, so that no line is ever put together anywhere else.
 */
class Chunks {
  readonly start: number = lineBytesMax;
  readonly #file: ReadableFile;
  /** The chunk that `next` made the current one. */
  current: Chunk;
  #next: Chunk;
  #position: number;
  #pending: Promise<number>;
  #lastCount = 0;

  constructor(file: ReadableFile, position: number) {
    this.#file = file;
    this.#position = position;
    const expectedBytes = file.size() - position;
    const chunkBytes = Math.min(Math.max(expectedBytes, 1), chunkBytesMax);
    this.current = createChunk(this.start + chunkBytes);
    this.#next = createChunk(this.start + chunkBytes);
    this.#pending = this.#read();
  }

  /** Makes the next chunk the current one, with the last `restBytes` of this one in front; its length, 0 at the end. */
  async next(restBytes: number): Promise<number> {
    const count = await this.#pending;
    const chunkEnd = this.start + this.#lastCount;
    this.current.bytes.copy(this.#next.bytes, this.start - restBytes, chunkEnd - restBytes, chunkEnd);
    [this.current, this.#next] = [this.#next, this.current];
    this.#position += count;
    this.#lastCount = count;
    if (count > 0) {
      this.#pending = this.#read();
    }
    return count;
  }

  /** Resolves when nothing is being read any more. */
  async settle(): Promise<void> {
    await this.#pending;
  }

  #read(): Promise<number> {
    return this.#file.read(this.#next.bytes.subarray(this.start), this.#position);
  }
}

/** The offset of the first line from `from` on that vouches for what is before it. */
async function findVoucher(file: ReadableFile, reader: LineReader, from: number): Promise<number | undefined> {
  const remainingBytes = Math.max(file.size() - from, 0) + lineBytesMax + 1;
  const { bytes: window, view } = createChunk(Math.min(chunkBytesMax, remainingBytes));
  for (let position = from; ; ) {
    const count = await readFully(file, window, position);
    const isLast = count < window.length;
    // A line that begins further back may not be in the window as a whole: it is looked at in the next one.
    const startsEnd = isLast ? count : count - lineBytesMax;
    const seen = window.subarray(0, count);
    let lineEnd = -1; // Looked for once a line: junk may be full of what looks like starts.
    for (let start = seen.indexOf(objectStart); start >= 0 && start < startsEnd; ) {
      if (lineEnd < start) {
        const found = seen.indexOf(newline, start);
        lineEnd = found < 0 ? count : found;
      }
      const end = Math.min(lineEnd, start + lineBytesMax);
      if (reader.provesEarlierLines(view, start, end)) {
        return position + start;
      }
      start = seen.indexOf(objectStart, start + 1);
    }
    if (isLast) {
      return undefined;
    }
    position += startsEnd;
  }
}
