/**
 * An animal, its correction, a change of its status or its removal, or a gap between animals <-> a line of pets.jsonl:
 *
 *     line       = create / correction / change / gap
 *     create     = animal [ number ] group [ once at ] checksum LF
 *                / animal version [ number ] group checksum LF       ; of an export: the animal has that version there
 *     correction = animal version number group [ once ] at checksum LF
 *     change     = '{"id":' id ',"status":"' ( status / "removed" ) '"' [ version ] number group [ once at ]
 *                  checksum LF
 *     gap        = '{"id":' id ',"after":' decimal number group checksum LF
 *     animal     = '{"id":' id 1*( ',"' word '":' ( text / int64 ) ) ',"status":"' status '"'
 *                                                        ; the members of pets/members.ts in their order
 *     id         = decimal, 1 or more
 *     text       = JSON string as JSON.stringify writes it
 *     int64      = decimal
 *     status     = "available" / "pending" / "sold"
 *     version    = ',"version":' decimal
 *     number     = ',"line":' decimal                    ; of a create only if it differs from the id
 *     group      = ',"group":' decimal
 *     once       = ',"once":"' 22( base64url character ) '"'
 *     at         = ',"at":' decimal
 *     checksum   = ',"crc":"' 8(lower-case hexadecimal digit) '"}'                    base/checksum.ts
 *
 * The file counts versions: the line of a create makes version 1 of the animal, and each one about it after that makes
 * one more, unless it says the version. A correction says it, so that release 3.0 refuses a file that has one, and
 * reads any other. An export says what counting would miss.
 *
 * A change to "removed", which is no status of the API, is the last line about an animal. After a gap,
 * `{"id":10,"after":8,…}`, there is no animal 9 or 10. Only a new file gets one (pet-file-lines.ts).
 *
 * `line` is the line's place in the file, from 1. `group` is that of the first line written with the same fdatasync. So
 * a file without changes has no `line`, and the `group` of an animal is the id of another. `once` is the idempotency
 * hash of a request that carried one, and `at` the time of the line in Unix seconds. A client gets the last line with
 * the whole animal up to its status, and then the present one. The checksum proves that this program wrote the bytes,
 * so reading only has to find the members, and to see that there are no others. It allocates nothing: a start reads
 * millions of lines.
 */

import { checksumBytes, hasChecksum, type LineFault, Literal, writeChecksum } from "../base/checksum.ts";
import type { Chunk } from "../log/chunks.ts";
import { members, membersBytesMax } from "../pets/members.ts";
import { petStatuses } from "../pets/pet.ts";
import { idempotencyHashCharacters } from "./idempotency-table.ts";

/** What a change is to, in the order of `statusIndex`. */
export const fileStatuses: readonly string[] = [...petStatuses, "removed"];
export const removedIndex = petStatuses.length;

const statusCharactersMax = Math.max(...fileStatuses.map((status) => status.length));

/** No line is longer. The number is for all but the members and the status, at its longest. */
export const petLineBytesMax = membersBytesMax + 188 + statusCharactersMax;

/** What a line does: creates an animal, corrects, changes or removes one of an earlier line, or is a gap. */
export type LineKind = "create" | "correction" | "change" | "gap";

/** Where a line's parts are. One object is used for all lines. */
export interface PetLine {
  id: number;
  kind: LineKind;
  /** Only set on a gap: the id before its first. */
  after: number;
  /** Its place in the file, from 1. */
  number: number;
  /** The number of the first line of its group. */
  group: number;
  /** Index in `fileStatuses`. */
  statusIndex: number;
  /** The version that the line says; 0 if it says none. */
  version: number;
  /** Where the status begins: the end of the text that the catalogue stores of an animal. */
  statusStart: number;
  /** Start of the idempotency hash; 0 if the line has none. */
  hashStart: number;
  /** Unix seconds; only set on a correction, and on a line with an idempotency hash. */
  atSeconds: number;
  /** Where the integer ends that was read last. */
  integerEnd: number;
}

export function createPetLine(): PetLine {
  const places = { statusStart: 0, hashStart: 0, atSeconds: 0, integerEnd: 0 };
  return { id: 0, kind: "create", after: 0, number: 0, group: 0, statusIndex: 0, version: 0, ...places };
}

/** What a line is about. */
export type LineContent = Pick<PetLine, "id" | "kind" | "statusIndex" | "version"> & {
  /** The animal as `petToJson` writes it; not used for a change. */
  readonly json: string;
  readonly idempotencyHash: string | undefined;
};

/**
 * Writes a line at `start`, where `petLineBytesMax` bytes are free, and returns its end.
 * @param line has `number`, `group` and `atSeconds`; gets the rest
 */
export function encodePetLine({ bytes, view }: Chunk, start: number, content: LineContent, line: PetLine): number {
  const { id, kind, statusIndex, version, json, idempotencyHash } = content;
  const { number, group, atSeconds } = line;
  const text = kind === "change" ? `{"id":${id},"status":"${fileStatuses[statusIndex]}"` : json.slice(0, -1);
  const said = version === 0 ? "" : `,"version":${version}`;
  const place = kind === "create" && number === id ? `,"group":${group}` : `,"line":${number},"group":${group}`;
  const once = idempotencyHash === undefined ? "" : `,"once":"${idempotencyHash}"`;
  const at = once === "" && kind !== "correction" ? "" : `,"at":${atSeconds}`;
  const end = start + bytes.write(text + said + place + once + at, start);
  const onceStart = end - at.length - once.length;
  line.id = id;
  line.kind = kind;
  line.statusIndex = statusIndex;
  line.version = version;
  line.statusStart = onceStart - place.length - said.length - 1 - fileStatuses[statusIndex]!.length; // A known status.
  line.hashStart = once === "" ? 0 : onceStart + beforeHash.length;
  return writeChecksum(view, start, end);
}

/** Writes a gap as `encodePetLine` does, a group of its own: the ids after `after`, up to `id`, have no animal. */
export function encodeGap({ bytes, view }: Chunk, start: number, { id, after, number }: PetLine): number {
  const text = `{"id":${id},"after":${after},"line":${number},"group":${number}`;
  return writeChecksum(view, start, start + bytes.write(text, start));
}

const idStart = new Literal('{"id":');
/** A text begins behind its quotation mark. */
const memberStarts = members.map(({ kind, name, isOptional = false }) => {
  const isText = kind === "text";
  return { isText, isOptional, start: new Literal(`,"${name}":${isText ? '"' : ""}`) };
});
const beforeStatus = new Literal(',"status":"');
const beforeAfter = new Literal(',"after":');
const beforeNumber = new Literal(',"line":');
const versionStart = new Literal('version":');
const numberStart = new Literal('line":');
const groupStart = new Literal('group":');
const groupAfterNumber = new Literal(',"group":');
const beforeHash = new Literal(',"once":"');
const afterHash = new Literal('","at":');
const beforeAt = new Literal(',"at":');
/** Each with the characters after it, so that no status is found at the beginning of a longer one. */
const statusLiterals: readonly Literal[] = fileStatuses.map((status) => new Literal(`${status}","`));

/** Reads the line `[start, end)`, its newline excluded, into `line`. Returns undefined if it is intact. */
export function readPetLine(bytes: DataView, start: number, end: number, line: PetLine): LineFault | undefined {
  if (!hasChecksum(bytes, start, end)) {
    return { kind: "damage", reason: "its checksum is wrong" };
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
  const idEnd = line.integerEnd;
  if (beforeAfter.isAt(bytes, idEnd)) {
    return readGap(bytes, end, line);
  }
  const isChange = beforeStatus.isAt(bytes, idEnd);
  line.kind = isChange ? "change" : "create";
  const statusAt = isChange ? idEnd : endOfMembers(bytes, idEnd, end);
  if (line.id < 1 || !beforeStatus.isAt(bytes, statusAt)) {
    return false;
  }
  line.statusStart = statusAt + beforeStatus.length;
  const placeAt = readVersion(bytes, readStatus(bytes, end, line), line);
  const isKnown = placeAt > 0 && (isChange || line.statusIndex !== removedIndex);
  return isKnown && readPlace(bytes, placeAt, line) && readTime(bytes, end, line);
}

/** Whether the members after an id, which begin as those of a gap, are those of one. */
function readGap(bytes: DataView, end: number, line: PetLine): boolean {
  line.kind = "gap";
  line.hashStart = 0;
  line.after = readInteger(bytes, line.integerEnd + beforeAfter.length, line);
  const isRight = line.after >= 0 && line.after < line.id && beforeNumber.isAt(bytes, line.integerEnd);
  return isRight && readPlace(bytes, line.integerEnd + 2, line) && line.integerEnd === end;
}

/** Where the members of an animal, which begin at `start`, are followed by its status; `end` if they are others. */
function endOfMembers(bytes: DataView, start: number, end: number): number {
  let at = start;
  for (let index = 0; index < memberStarts.length; index++) {
    const member = memberStarts[index]!; // The index is within the array.
    if (member.start.isAt(bytes, at)) {
      const valueAt = at + member.start.length;
      at = member.isText ? endOfText(bytes, valueAt, end) : endOfDigits(bytes, valueAt);
    } else if (!member.isOptional) {
      return end;
    }
  }
  return at;
}

/** Where the member after the status begins; -1 if there is no status. */
function readStatus(bytes: DataView, end: number, line: PetLine): number {
  for (let index = 0; index < statusLiterals.length; index++) {
    const literal = statusLiterals[index]!; // The index is within the array.
    if (line.statusStart + literal.length < end && literal.isAt(bytes, line.statusStart)) {
      line.statusIndex = index;
      return line.statusStart + literal.length;
    }
  }
  return -1;
}

/** Reads the version if there is one at `at`. Where the member after it begins; -1 if that is not to be found. */
function readVersion(bytes: DataView, at: number, line: PetLine): number {
  line.version = 0;
  if (at < 0 || !versionStart.isAt(bytes, at)) {
    return at;
  }
  line.version = readInteger(bytes, at + versionStart.length, line);
  return line.version > 0 ? line.integerEnd + 2 : -1; // After a comma and a quotation mark.
}

/** Whether the line's number and its group are at `at`. A create leaves out a number that is its id. */
function readPlace(bytes: DataView, at: number, line: PetLine): boolean {
  line.number = line.id;
  let groupAt = at + groupStart.length;
  if (numberStart.isAt(bytes, at)) {
    line.number = readInteger(bytes, at + numberStart.length, line);
    groupAt = line.integerEnd + groupAfterNumber.length;
    const isNeeded = line.number !== line.id || line.kind !== "create" || line.version > 0;
    if (!isNeeded || !groupAfterNumber.isAt(bytes, line.integerEnd)) {
      return false;
    }
  } else if (line.kind !== "create" || !groupStart.isAt(bytes, at)) {
    return false;
  }
  line.group = readInteger(bytes, groupAt, line);
  return line.number > 0 && line.group > 0;
}

/** Whether the line ends after its group, or has a time there, behind a hash or, as a correction may, alone. */
function readTime(bytes: DataView, end: number, line: PetLine): boolean {
  line.hashStart = 0;
  const onceAt = line.integerEnd;
  if (onceAt === end) {
    return true;
  }
  if (line.kind === "create" && line.version > 0) {
    line.kind = "correction"; // A create that says its version, which is an export's, has no time.
  }
  let timeAt = onceAt + beforeAt.length;
  if (line.kind !== "correction" || !beforeAt.isAt(bytes, onceAt)) {
    const hashStart = onceAt + beforeHash.length;
    const hashEnd = hashStart + idempotencyHashCharacters;
    const hasRoom = hashEnd + afterHash.length < end;
    if (!hasRoom || !beforeHash.isAt(bytes, onceAt) || !afterHash.isAt(bytes, hashEnd)) {
      return false;
    }
    line.hashStart = hashStart;
    timeAt = hashEnd + afterHash.length;
  }
  line.atSeconds = readInteger(bytes, timeAt, line);
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

/** Behind the closing quote of a text, or `end`. A backslash escapes the byte after it. */
function endOfText(bytes: DataView, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const byte = bytes.getUint8(at);
    if (byte === 0x22) {
      return at + 1;
    }
    if (byte === 0x5c) {
      at++;
    }
  }
  return end;
}
