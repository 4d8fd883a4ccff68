/**
 * One animal <-> one line of pets.jsonl (contract, section 7):
 *
 *     line   = '{"id":' id ',"name":' name ',"categoryId":' int64 ',"status":"' status '","group":' group seal LF
 *     id     = group = canonical decimal, 1 or more
 *     name   = JSON string as JSON.stringify writes it
 *     int64  = canonical decimal
 *     status = "available" / "pending" / "sold"
 *     seal   = ',"crc":"' 8(lower-case hexadecimal digit) '"}'                          log/line-seal.ts
 *
 * For instance, the second animal of the group that began with animal 7:
 *
 *     {"id":8,"name":"Rex","categoryId":1,"status":"sold","group":7,"crc":"1c291ca3"}
 *
 * `group` is the id of the first animal written with the same fdatasync. What a client gets is the line up to
 * `,"group"`, and a `}`. Reading allocates nothing: a start reads millions of lines.
 */

import { isUtf8 } from "node:buffer";

import { isSealAt, isSealed, matches, sealBytesAt } from "../log/line-seal.ts";
import type { LineFault } from "../log/log-reader.ts";
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
}

export function createPetLine(): PetLine {
  return { id: 0, group: 0, statusIndex: 0, textEnd: 0 };
}

/**
 * Writes the line of an animal at `start`, where `petLineBytesMax` bytes are free, and returns its end.
 *
 * @param json the served text, with its `}`
 * @param line is told where the served text ends
 */
export function encodePetLine(bytes: Buffer, start: number, json: string, line: PetLine): number {
  const textEnd = start + bytes.write(json.slice(0, -1), start);
  line.textEnd = textEnd;
  return sealBytesAt(bytes, start, textEnd + bytes.write(`,"group":${line.group}`, textEnd, "latin1"));
}

const idStart = Buffer.from('{"id":');
const nameStart = Buffer.from(',"name":"');
const categoryIdStart = Buffer.from('","categoryId":');
const statusStart = Buffer.from(',"status":"');
const groupStart = Buffer.from('","group":');
const statuses = petStatuses.map((status) => Buffer.from(status));
const unknownStatus = Buffer.from('"');

/** Reads the line `[start, end)`, its newline excluded, into `line`; undefined where it is sound. */
export function readPetLine(bytes: Buffer, start: number, end: number, line: PetLine): LineFault | undefined {
  const sealStart = readMembers(bytes, start, line);
  if (sealStart > 0 && isSealAt(bytes, start, sealStart, end)) {
    return sealEndOf(sealStart) === end ? undefined : { kind: "damage", reason: "bytes after the end of the line" };
  }
  if (!isSealed(bytes, start, end)) {
    return { kind: "damage", reason: sealStart > 0 ? "wrong checksum" : "not a line of this log" };
  }
  return { kind: "wrong", reason: "a member that this release does not know; a newer one may have written it" };
}

/** Whether a sound line that begins a group stands at `start` and ends at `end` or before it. */
export function isGroupStart(bytes: Buffer, start: number, end: number, line: PetLine): boolean {
  const sealStart = readMembers(bytes, start, line);
  return sealStart > 0 && line.id === line.group && isSealAt(bytes, start, sealStart, end);
}

function sealEndOf(sealStart: number): number {
  return sealStart + ',"crc":"00000000"}'.length;
}

/** Returns where the seal has to stand; -1 where the members are not those of the grammar. */
function readMembers(bytes: Buffer, start: number, line: PetLine): number {
  if (!matches(bytes, start, idStart)) {
    return -1;
  }
  const idEnd = endOfDigits(bytes, start + idStart.length);
  line.id = decimal(bytes, start + idStart.length, idEnd);
  if (line.id < 1 || !matches(bytes, idEnd, nameStart)) {
    return -1;
  }
  const nameEnd = endOfName(bytes, idEnd + nameStart.length);
  if (nameEnd < 0 || !matches(bytes, nameEnd, categoryIdStart)) {
    return -1;
  }
  const categoryIdEnd = endOfInt64(bytes, nameEnd + categoryIdStart.length);
  if (categoryIdEnd < 0 || !matches(bytes, categoryIdEnd, statusStart)) {
    return -1;
  }
  const statusAt = categoryIdEnd + statusStart.length;
  line.statusIndex = statusIndexAt(bytes, statusAt);
  const statusEnd = statusAt + (statuses[line.statusIndex]?.length ?? 0);
  if (line.statusIndex < 0 || !matches(bytes, statusEnd, groupStart)) {
    return -1;
  }
  line.textEnd = statusEnd + 1;
  const groupAt = statusEnd + groupStart.length;
  const groupEnd = endOfDigits(bytes, groupAt);
  line.group = decimal(bytes, groupAt, groupEnd);
  return line.group < 1 ? -1 : groupEnd;
}

/** -1 where none of them stands there. */
function statusIndexAt(bytes: Buffer, start: number): number {
  for (let index = 0; index < statuses.length; index++) {
    if (matches(bytes, start, statuses[index] ?? unknownStatus)) {
      return index;
    }
  }
  return -1;
}

function endOfDigits(bytes: Buffer, start: number): number {
  let at = start;
  while (isDigit(bytes[at])) {
    at++;
  }
  return at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** The value of `[start, end)`, which holds digits only; 0 where it is empty, not canonical or too long to be exact. */
function decimal(bytes: Buffer, start: number, end: number): number {
  if (end === start || end - start > 15 || bytes[start] === 0x30) {
    return 0;
  }
  let value = 0;
  for (let at = start; at < end; at++) {
    value = value * 10 + ((bytes[at] ?? 0) - 0x30);
  }
  return value;
}

/** Where the closing quote stands; -1 where the string is not as JSON.stringify writes one. */
function endOfName(bytes: Buffer, start: number): number {
  let isAscii = true;
  for (let at = start; ; at++) {
    const byte = bytes[at];
    if (byte === 0x22) {
      return isAscii || isUtf8(bytes.subarray(start, at)) ? at : -1;
    }
    if (byte === undefined || byte < 0x20) {
      return -1;
    }
    if (byte === 0x5c) {
      const escapeLength = lengthOfEscape(bytes, at);
      if (escapeLength === 0) {
        return -1;
      }
      at += escapeLength - 1;
    } else if (byte >= 0x80) {
      isAscii = false;
    }
  }
}

const shortEscapes = Buffer.from('"\\bfnrt');
const unicodeEscape = Buffer.from("\\u00");

/** Those control characters that have no short escape: JSON.stringify writes no others as `\u00…`. */
const controlDigits = /^(?:0[0-7bef]|1[0-9a-f])$/;

/** Of the escape at `at`; 0 where it is none of JSON.stringify's. */
function lengthOfEscape(bytes: Buffer, at: number): number {
  const next = bytes[at + 1] ?? 0;
  if (shortEscapes.includes(next)) {
    return 2;
  }
  const isControl = matches(bytes, at, unicodeEscape) && controlDigits.test(bytes.toString("latin1", at + 4, at + 6));
  return isControl ? 6 : 0;
}

/** -1 where there is no canonical int64. */
function endOfInt64(bytes: Buffer, start: number): number {
  const digitsStart = bytes[start] === 0x2d ? start + 1 : start;
  const end = endOfDigits(bytes, digitsStart);
  const digitCount = end - digitsStart;
  const isZero = bytes[digitsStart] === 0x30;
  if (digitCount === 0 || (isZero && (digitCount > 1 || digitsStart > start)) || digitCount > 19) {
    return -1;
  }
  if (digitCount === 19) {
    const value = BigInt(bytes.toString("latin1", start, end));
    return value >= int64Min && value <= int64Max ? end : -1;
  }
  return end;
}
