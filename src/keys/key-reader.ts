/**
 * Applies the lines of keys.jsonl to a keyring, from where the last reading stopped.
 *
 * The file may only grow. So before new lines are applied, the part that was applied before is verified by its CRC-32:
 * if it is not the same, the file was replaced or changed, and nothing of it is applied.
 */

import { setImmediate as eventLoopTurn } from "node:timers/promises";
import { crc32 } from "node:zlib";

import { type ReadableFile, readFully } from "../disk/file-bytes.ts";
import { endOfChecksummedLine } from "../log/checksum.ts";
import { type LineFault, type LineReader, type LogEnd, readLog } from "../log/reader.ts";
import { decodeKeyEvent, keyLineBytesMax } from "./key-line.ts";
import type { KeyEvent } from "./key.ts";
import type { Keyring } from "./keyring.ts";

/** What was found in the file. A fault is text that continues a sentence after the file's name. */
export type Finding =
  | { readonly kind: "sound" }
  /** An unfinished line follows the sound ones. */
  | { readonly kind: "torn"; readonly fault: string }
  | { readonly kind: "corrupt"; readonly fault: string }
  | { readonly kind: "replaced"; readonly fault: string };

/** Bytes of lines that are decoded in one turn of the event loop: about 2 ms. */
const decodedBytesMax = 65_536;
/** Bytes that are verified in one turn of the event loop: less than 1 ms. */
const verifiedBytesMax = 1_048_576;
/** Events that are applied in one turn of the event loop: about 1 ms. */
const appliedEventsMax = 1_000;

export class KeyReader {
  readonly #ring: Keyring;
  readonly #onUnban: (keyId: string) => void;
  /** What has been applied: bytes from the start of the file, the CRC-32 of those bytes, and lines. */
  #offset = 0;
  #crc = 0;
  #lineCount = 0;

  constructor(ring: Keyring, onUnban: (keyId: string) => void) {
    this.#ring = ring;
    this.#onUnban = onUnban;
  }

  /** Bytes of the file that have been applied. */
  get offset(): number {
    return this.#offset;
  }

  /**
   * Applies the new lines. They are read first, then the part before them is verified, and only then are they applied:
   * a program that rewrites a file begins at its start, so no line of another content is ever applied.
   */
  async read(file: ReadableFile): Promise<Finding> {
    const lines = new NewLines(this.#offset, this.#crc);
    const sizeBytes = file.size();
    const end = sizeBytes < this.#offset ? undefined : await lines.read(file, sizeBytes);
    if (end === undefined || (await checksumOf(file, this.#offset)) !== this.#crc) {
      return { kind: "replaced", fault: "was replaced or changed by another program" };
    }
    const firstLine = this.#lineCount + 1;
    return (await this.#apply(lines.events)) ?? findingOf(end, firstLine);
  }

  /** Returns the fault of an event that cannot have happened; the events before it have been applied. */
  async #apply(events: readonly NewEvent[]): Promise<Finding | undefined> {
    for (const [index, { event, endBytes, crc }] of events.entries()) {
      const reason = this.#ring.apply(event);
      if (reason !== undefined) {
        return damageAt(this.#lineCount + 1, this.#offset, reason);
      }
      if (event.event === "unbanned") {
        this.#onUnban(event.id);
      }
      this.#offset = endBytes;
      this.#crc = crc;
      this.#lineCount += 1;
      if ((index + 1) % appliedEventsMax === 0) {
        await eventLoopTurn();
      }
    }
    return undefined;
  }
}

/** @param firstLine the number of the first line that was read, from 1 */
function findingOf(end: LogEnd, firstLine: number): Finding {
  switch (end.kind) {
    case "whole":
      return { kind: "sound" };
    case "torn":
      return { kind: "torn", fault: tornText(end.tornBytes, end.reason) };
    case "corrupt":
      return damageAt(firstLine + end.lineNumber - 1, end.offset, end.reason);
  }
}

function tornText(tornBytes: number, reason: string): string {
  return `ends in ${tornBytes === 1 ? "1 byte that is" : `${tornBytes} bytes that are`} not a sound line: ${reason}`;
}

function damageAt(lineNumber: number, offset: number, reason: string): Finding {
  return { kind: "corrupt", fault: `is damaged at line ${lineNumber}, byte ${offset}: ${reason}` };
}

/** An event that is not applied yet. */
interface NewEvent {
  readonly event: KeyEvent;
  /** Where its line ends in the file, and the CRC-32 of the file up to there. */
  readonly endBytes: number;
  readonly crc: number;
}

/** The lines that follow what has been applied. */
class NewLines implements LineReader {
  readonly events: NewEvent[] = [];
  readonly #from: number;
  #endBytes: number;
  #crc: number;

  constructor(from: number, crc: number) {
    this.#from = from;
    this.#endBytes = from;
    this.#crc = crc;
  }

  /** Reads no further than the size at the call: the next look reads what is appended later. */
  async read(file: ReadableFile, sizeBytes: number): Promise<LogEnd> {
    const inPieces: ReadableFile = {
      read: (target, position) => file.read(target.subarray(0, decodedBytesMax), position),
      size: () => file.size(),
    };
    const end = await readLog(inPieces, this, { from: this.#from, to: sizeBytes, tornBytesMax: keyLineBytesMax });
    if (end.kind === "torn" && (await hasSeveralLines(file, end.lengthBytes, end.tornBytes))) {
      // Each line is synced before the next one is written. So a crash damages only one.
      const reason = `${end.reason}; further lines follow`;
      return { kind: "corrupt", lineNumber: end.lineCount + 1, offset: end.lengthBytes, reason };
    }
    return end;
  }

  take(bytes: DataView, start: number, end: number): LineFault | undefined {
    const decoded = decodeKeyEvent(bytes, start, end);
    if (decoded.kind === "fault") {
      return decoded.fault;
    }
    this.#endBytes += end + 1 - start;
    this.#crc = crc32(new Uint8Array(bytes.buffer, bytes.byteOffset + start, end + 1 - start), this.#crc);
    this.events.push({ event: decoded.event, endBytes: this.#endBytes, crc: this.#crc });
    return undefined;
  }

  provesEarlierLines(bytes: DataView, start: number, end: number): boolean {
    return endOfChecksummedLine(bytes, start, end) > 0;
  }
}

/** Whether another line begins in the damaged end. A newline alone does not show it: after a crash it may be junk. */
async function hasSeveralLines(file: ReadableFile, offset: number, lengthBytes: number): Promise<boolean> {
  const bytes = Buffer.allocUnsafe(lengthBytes);
  const count = await readFully(file, bytes, offset);
  return bytes.subarray(0, count).includes('\n{"event":"');
}

/** The CRC-32 of the first `lengthBytes` of the file; of the whole file if it is shorter. */
async function checksumOf(file: ReadableFile, lengthBytes: number): Promise<number> {
  const chunk = Buffer.allocUnsafe(Math.min(lengthBytes, verifiedBytesMax));
  let crc = 0;
  for (let position = 0; position < lengthBytes; ) {
    const count = await file.read(chunk.subarray(0, lengthBytes - position), position);
    if (count === 0) {
      break;
    }
    crc = crc32(chunk.subarray(0, count), crc);
    position += count;
  }
  return crc;
}
