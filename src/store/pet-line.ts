/**
 * One animal <-> one line of pets.jsonl (contract, section 7):
 *
 *     line   = '{"id":' id ',"name":' name ',"categoryId":' int64 ',"status":"' status '","group":' group seal LF
 *     id     = group = canonical decimal, 1 or more
 *     name   = JSON string as JSON.stringify writes it
 *     int64  = canonical decimal
 *     status = "available" / "pending" / "sold"
 *     seal   = ',"crc":"' 8(lower-case hexadecimal digit) '"}'                          log/checksum.ts
 *
 * For instance, the second animal of the group that began with animal 7:
 *
 *     {"id":8,"name":"Rex","categoryId":1,"status":"sold","group":7,"crc":"1c291ca3"}
 *
 * `group` is the id of the first animal written with the same fdatasync. What a client gets is the line up to
 * `,"group"`, and a `}`. Reading allocates nothing: a start reads millions of lines.
 */

import { isUtf8 } from "node:buffer";

import { isChecksumAt, hasChecksum, writeChecksum } from "../log/checksum.ts";
import { Literal } from "../log/literal.ts";
import type { LineFault } from "../log/reader.ts";
import { int64Max, int64Min, nameCodePointsMax, petStatuses } from "../pets/pet.ts";

/** No line is longer: each code point of a name takes six bytes at most, escaped, and the rest of a line 200. */
export const petLineBytesMax: number = nameCodePointsMax * 6 + 200;

/** Where a line's parts are. One object is used for all lines. */
export interface PetLine {
  id: number;
  group: number;
  /** Index in `petStatuses`. */
  statusIndex: number;
  /** End of the served text, without its `}`. */
  textEnd: number;
  /** Where the decimal ends that was read last. */
  at: number;
}

export function createPetLine(): PetLine {
  return { id: 0, group: 0, statusIndex: 0, textEnd: 0, at: 0 };
}

/** Where lines are written: text by Node, words by us. */
export interface LineBytes {
  readonly bytes: Buffer;
  /** The same bytes. */
  readonly view: DataView;
}

/**
 * Writes the line of an animal at `start`, where `petLineBytesMax` bytes are free, and returns its end.
 *
 * @param json the served text, with its `}`
 * @param line is told where the served text ends
 */
export function encodePetLine({ bytes, view }: LineBytes, start: number, json: string, line: PetLine): number {
  const group = `,"group":${line.group}`;
  // One call: it costs more than the bytes.
  const checksumStart = start + bytes.write(json.slice(0, -1) + group, start);
  line.textEnd = checksumStart - group.length;
  return writeChecksum(view, start, checksumStart);
}

const idStart = new Literal('{"id":');
const nameStart = new Literal(',"name":"');
const categoryIdStart = new Literal('","categoryId":');
const statusStart = new Literal(',"status":"');
const groupStart = new Literal('","group":');
const statuses: readonly Literal[] = petStatuses.map((status) => new Literal(status));

/** Reads the line `[start, end)`, its newline excluded, into `line`; undefined where it is sound. */
export function readPetLine(bytes: DataView, start: number, end: number, line: PetLine): LineFault | undefined {
  const checksumStart = readMembers(bytes, start, end, line);
  if (checksumStart > 0 && isChecksumAt(bytes, start, checksumStart, end)) {
    const isWhole = checksumEndOf(checksumStart) === end;
    return isWhole ? undefined : { kind: "damage", reason: "bytes after the end of the line" };
  }
  if (!hasChecksum(bytes, start, end)) {
    return { kind: "damage", reason: checksumStart > 0 ? "wrong checksum" : "not a line of this log" };
  }
  return { kind: "wrong", reason: "a member that this release does not know; a newer one may have written it" };
}

/** Whether a sound line that begins a group stands at `start` and ends at `end` or before it. */
export function isGroupStart(bytes: DataView, start: number, end: number, line: PetLine): boolean {
  const checksumStart = readMembers(bytes, start, end, line);
  return checksumStart > 0 && line.id === line.group && isChecksumAt(bytes, start, checksumStart, end);
}

function checksumEndOf(checksumStart: number): number {
  return checksumStart + ',"crc":"00000000"}'.length;
}

/** Returns where the seal has to stand; -1 where the members are not those of the grammar. */
function readMembers(bytes: DataView, start: number, end: number, line: PetLine): number {
  if (!idStart.standsAt(bytes, start, end)) {
    return -1;
  }
  line.id = readDecimal(bytes, start + idStart.length, end, line);
  if (line.id < 1 || !nameStart.standsAt(bytes, line.at, end)) {
    return -1;
  }
  const nameEnd = endOfName(bytes, line.at + nameStart.length, end);
  if (nameEnd < 0 || !categoryIdStart.standsAt(bytes, nameEnd, end)) {
    return -1;
  }
  const categoryIdEnd = endOfInt64(bytes, nameEnd + categoryIdStart.length, end);
  if (categoryIdEnd < 0 || !statusStart.standsAt(bytes, categoryIdEnd, end)) {
    return -1;
  }
  const statusAt = categoryIdEnd + statusStart.length;
  line.statusIndex = statusIndexAt(bytes, statusAt, end);
  const statusEnd = statusAt + (statuses[line.statusIndex]?.length ?? 0);
  if (line.statusIndex < 0 || !groupStart.standsAt(bytes, statusEnd, end)) {
    return -1;
  }
  line.textEnd = statusEnd + 1;
  line.group = readDecimal(bytes, statusEnd + groupStart.length, end, line);
  return line.group < 1 ? -1 : line.at;
}

/** -1 where none of them stands there. */
function statusIndexAt(bytes: DataView, at: number, end: number): number {
  for (let index = 0; index < statuses.length; index++) {
    if (statuses[index]!.standsAt(bytes, at, end)) {
      return index;
    }
  }
  return -1;
}

// Each of these is told where the line ends: to ask a DataView for its length takes longer than all else in a loop.

function endOfDigits(bytes: DataView, start: number, end: number): number {
  let at = start;
  while (at < end && isDigit(bytes.getUint8(at))) {
    at++;
  }
  return at;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** The canonical decimal at `start`, which ends at `line.at`; 0 where there is none, or one too long to be exact. */
function readDecimal(bytes: DataView, start: number, end: number, line: PetLine): number {
  let value = 0;
  let at = start;
  for (; at < end; at++) {
    const digit = bytes.getUint8(at) - 0x30;
    if (digit < 0 || digit > 9) {
      break;
    }
    value = value * 10 + digit;
  }
  line.at = at;
  return at === start || at - start > 15 || bytes.getUint8(start) === 0x30 ? 0 : value;
}

/** 1 for the bytes that stand for themselves in a JSON string and are ASCII. */
const isPlain = Uint8Array.from({ length: 256 }, (_, byte) => {
  return byte >= 0x20 && byte < 0x80 && byte !== 0x22 && byte !== 0x5c ? 1 : 0;
});

/** Where the closing quote stands; -1 where the string is not as JSON.stringify writes one. */
function endOfName(bytes: DataView, start: number, end: number): number {
  let isAscii = true;
  for (let at = start; at < end; at++) {
    const byte = bytes.getUint8(at);
    if (isPlain[byte] === 1) {
      continue;
    }
    if (byte === 0x22) {
      return isAscii || isUtf8(bytesOf(bytes, start, at)) ? at : -1;
    }
    if (byte < 0x20) {
      return -1;
    }
    if (byte === 0x5c) {
      const escape = escapeAt.exec(bytesOf(bytes, at, Math.min(at + 6, end)).toString("latin1"))?.[0];
      if (escape === undefined) {
        return -1;
      }
      at += escape.length - 1;
    } else {
      isAscii = false;
    }
  }
  return -1;
}

/** Those that JSON.stringify writes: control characters that have no short escape, and no others, as `\u00…`. */
const escapeAt = /^\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))/;

/** -1 where there is no canonical int64. */
function endOfInt64(bytes: DataView, start: number, end: number): number {
  const isNegative = start < end && bytes.getUint8(start) === 0x2d;
  const digitsStart = isNegative ? start + 1 : start;
  const digitsEnd = endOfDigits(bytes, digitsStart, end);
  const digitCount = digitsEnd - digitsStart;
  if (digitCount === 0 || digitCount > 19) {
    return -1;
  }
  if (bytes.getUint8(digitsStart) === 0x30) {
    return digitCount > 1 || isNegative ? -1 : digitsEnd;
  }
  if (digitCount === 19) {
    const value = BigInt(bytesOf(bytes, start, digitsEnd).toString("latin1"));
    return value >= int64Min && value <= int64Max ? digitsEnd : -1;
  }
  return digitsEnd;
}

function bytesOf(bytes: DataView, start: number, end: number): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
}
