/**
 * One animal <-> one line of pets.jsonl:
 *
 *     line     = '{"id":' id ',"name":' name ',"categoryId":' int64 ',"status":"' status '","group":' group [ hash ]
 *                checksum LF
 *     id       = group = decimal, 1 or more
 *     name     = JSON string as JSON.stringify writes it
 *     int64    = decimal
 *     status   = "available" / "pending" / "sold"
 *     hash     = ',"once":"' 22( base64url character ) '","at":' decimal
 *     checksum = ',"crc":"' 8(lower-case hexadecimal digit) '"}'                      log/checksum.ts
 *
 * For instance, the second animal of the group that began with animal 7:
 *
 *     {"id":8,"name":"Rex","categoryId":1,"status":"sold","group":7,"crc":"4957f9f9"}
 *
 * `group` is the id of the first animal written with the same fdatasync. `once` is the idempotency hash of a create
 * that carried one, and `at` its time in Unix seconds. A client gets the line up to `,"group"`, and a `}`. The checksum
 * proves that this program wrote the bytes, so reading only has to find the members, and to see that there are no
 * others. It allocates nothing: a start reads millions of lines.
 */

import { checksumBytes, hasChecksum, Literal, writeChecksum } from "../log/checksum.ts";
import type { Chunk } from "../log/chunks.ts";
import type { LineFault } from "../log/reader.ts";
import { nameCodePointsMax, petStatuses } from "../pets/pet.ts";
import { idempotencyHashCharacters } from "./idempotency-table.ts";

const statusCharactersMax = Math.max(...petStatuses.map((status) => status.length));

/** No line is longer: each code point of a name takes six bytes at most, escaped; all but name and status 190. */
export const petLineBytesMax: number = nameCodePointsMax * 6 + 190 + statusCharactersMax;

/** Where a line's parts are. One object is used for all lines. */
export interface PetLine {
  id: number;
  group: number;
  /** Index in `petStatuses`. */
  statusIndex: number;
  /** End of the served text, without its `}`. */
  textEnd: number;
  /** Start of the idempotency hash; 0 if the line has none. */
  hashStart: number;
  /** Of a line with a hash, in Unix seconds. */
  atSeconds: number;
  /** Of the integer that was read last. */
  integerEnd: number;
}

export function createPetLine(): PetLine {
  return { id: 0, group: 0, statusIndex: 0, textEnd: 0, hashStart: 0, atSeconds: 0, integerEnd: 0 };
}

/**
 * Writes the line of an animal at `start`, where `petLineBytesMax` bytes are free, and returns its end.
 * @param json the served text, with its `}`
 * @param line has `group` and `atSeconds`; gets `textEnd` and `hashStart`
 */
export function encodePetLine(
  { bytes, view }: Chunk,
  start: number,
  json: string,
  line: PetLine,
  idempotencyHash?: string,
): number {
  const group = `,"group":${line.group}`;
  const hash = idempotencyHash === undefined ? "" : `,"once":"${idempotencyHash}","at":${line.atSeconds}`;
  const end = start + bytes.write(json.slice(0, -1) + group + hash, start);
  line.textEnd = end - hash.length - group.length;
  line.hashStart = hash === "" ? 0 : end - hash.length + beforeHash.length;
  return writeChecksum(view, start, end);
}

const idStart = new Literal('{"id":');
const nameStart = new Literal(',"name":"');
const categoryIdStart = new Literal('","categoryId":');
const statusStart = new Literal(',"status":"');
const groupText = '","group":';
const beforeHash = new Literal(',"once":"');
const beforeAt = new Literal('","at":');
/** With what follows a status, so that no status is taken for a longer one that begins with it. */
const statusesAndGroup: readonly Literal[] = petStatuses.map((status) => new Literal(status + groupText));

/** Reads the line `[start, end)`, its newline excluded, into `line`. Returns undefined if it is sound. */
export function readPetLine(bytes: DataView, start: number, end: number, line: PetLine): LineFault | undefined {
  if (!hasChecksum(bytes, start, end)) {
    return { kind: "damage", reason: "not a line with its right checksum" };
  }
  if (!readMembers(bytes, start, end + 1 - checksumBytes, line)) {
    return { kind: "wrong", reason: "an unknown member: a newer release wrote the line; start that one" };
  }
  return undefined;
}

/** Whether the members of `[start, end)`, a line up to its checksum, are those of the grammar. */
function readMembers(bytes: DataView, start: number, end: number, line: PetLine): boolean {
  // Comparing these texts never reads beyond the line: each is shorter than the checksum after the members.
  if (!idStart.isAt(bytes, start)) {
    return false;
  }
  line.id = readInteger(bytes, start + idStart.length, line);
  if (line.id < 1 || !nameStart.isAt(bytes, line.integerEnd)) {
    return false;
  }
  const nameEnd = endOfName(bytes, line.integerEnd + nameStart.length, end);
  if (!categoryIdStart.isAt(bytes, nameEnd)) {
    return false;
  }
  const categoryIdEnd = endOfDigits(bytes, nameEnd + categoryIdStart.length);
  if (!statusStart.isAt(bytes, categoryIdEnd)) {
    return false;
  }
  const groupAt = readStatus(bytes, categoryIdEnd + statusStart.length, end, line);
  if (groupAt < 0) {
    return false;
  }
  line.textEnd = groupAt - groupText.length + 1;
  line.group = readInteger(bytes, groupAt, line);
  return line.group > 0 && readHash(bytes, end, line);
}

/** Where the group's number begins after the status at `at`; -1 if there is no status. */
function readStatus(bytes: DataView, at: number, end: number, line: PetLine): number {
  for (let index = 0; index < statusesAndGroup.length; index++) {
    const literal = statusesAndGroup[index]!; // The index is within the array.
    if (at + literal.length < end && literal.isAt(bytes, at)) {
      line.statusIndex = index;
      return at + literal.length;
    }
  }
  return -1;
}

/** Whether the line ends after its group, or has a hash and its time there. */
function readHash(bytes: DataView, end: number, line: PetLine): boolean {
  line.hashStart = 0;
  if (line.integerEnd === end) {
    return true;
  }
  const hashStart = line.integerEnd + beforeHash.length;
  const hashEnd = hashStart + idempotencyHashCharacters;
  const hasRoom = hashEnd + beforeAt.length < end;
  if (!hasRoom || !beforeHash.isAt(bytes, line.integerEnd) || !beforeAt.isAt(bytes, hashEnd)) {
    return false;
  }
  line.hashStart = hashStart;
  line.atSeconds = readInteger(bytes, hashEnd + beforeAt.length, line);
  return line.atSeconds >= 0 && line.integerEnd === end;
}

/** The integer at `start`, which ends at `line.integerEnd`; -1 if there is none, or one too long to be exact. */
function readInteger(bytes: DataView, start: number, line: PetLine): number {
  let value = 0;
  let at = start;
  for (; ; at++) {
    const digit = bytes.getUint8(at) - 0x30;
    if (digit < 0 || digit > 9) {
      break;
    }
    value = value * 10 + digit;
  }
  line.integerEnd = at;
  return at === start || at - start > 15 ? -1 : value;
}

/** A minus sign counts as a digit. */
function endOfDigits(bytes: DataView, start: number): number {
  let at = start;
  for (let byte = bytes.getUint8(at); byte === 0x2d || (byte >= 0x30 && byte <= 0x39); byte = bytes.getUint8(at)) {
    at++;
  }
  return at;
}

/** Where the closing quote of a name is, or `end`. A backslash escapes the byte after it. */
function endOfName(bytes: DataView, start: number, end: number): number {
  let at = start;
  for (; at < end; at++) {
    const byte = bytes.getUint8(at);
    if (byte === 0x22) {
      return at;
    }
    if (byte === 0x5c) {
      at++;
    }
  }
  return end;
}
