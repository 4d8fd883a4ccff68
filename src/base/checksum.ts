/**
 * The checksum of a log line:
 *
 *     line = "{" … ',"crc":"' 8(lower-case hexadecimal digit) '"}' LF
 *
 * The digits are the CRC-32 of all bytes of the line before `,"crc"`, as in gzip and PNG (RFC 1952, section 8). A line
 * stays a JSON object, and a person checks one with `head -c -19 | gzip -c | tail -c8 | xxd -e -l4`.
 */

import { crc32 } from "node:zlib";

/** A text expected at known places of a line, compared word by word: byte by byte, a start takes 20 % longer. */
export class Literal {
  readonly length: number;
  readonly #words: Int32Array;
  readonly #lastWord: number;

  /** @param text ASCII, at least four characters */
  constructor(text: string) {
    const bytes = Buffer.from(text, "latin1");
    this.length = bytes.length;
    this.#words = Int32Array.from({ length: bytes.length >> 2 }, (_, index) => bytes.readInt32BE(index * 4));
    this.#lastWord = bytes.readInt32BE(bytes.length - 4);
  }

  /** Whether the text is at `at`. `bytes` must not end before the text would. */
  isAt(bytes: DataView, at: number): boolean {
    const words = this.#words;
    const last = at + this.length - 4;
    for (let index = 0, place = at; place < last; index++, place += 4) {
      if (bytes.getInt32(place) !== words[index]) {
        return false;
      }
    }
    return bytes.getInt32(last) === this.#lastWord; // Overlaps the word before it, unless the length is a multiple.
  }
}

const beforeText = ',"crc":"';
const beforeDigits = new Literal(beforeText);
const newline = 0x0a;
const comma = 0x2c;
/** `"}`, as one number. */
const afterDigits = 0x227d;
/** The two digits of each byte, as one number. */
const digitsOf: Uint16Array = Uint16Array.from({ length: 256 }, (_, byte) => {
  return Buffer.from(byte.toString(16).padStart(2, "0"), "latin1").readUInt16BE();
});
const digitCount = 8;

/** Bytes of a checksum, from its comma to the newline. */
export const checksumBytes = beforeText.length + digitCount + 3;

/** `{"a":1}` becomes `{"a":1,"crc":"…"}` and a newline. `json` must be an object with a member. */
export function lineWithChecksum(json: string): string {
  const content = json.slice(0, -1);
  return content + checksumText(crc32(content));
}

/** The end of a line whose bytes so far, without the `}`, have this CRC-32. */
export function checksumText(crc: number): string {
  return `${beforeText}${crc.toString(16).padStart(digitCount, "0")}"}\n`;
}

/** Completes the line `[start, end)`, which has no `}` yet, and returns its end. */
export function writeChecksum(bytes: DataView, start: number, end: number): number {
  const crc = crcOf(bytes, start, end);
  let at = end;
  for (let index = 0; index < beforeText.length; index++, at++) {
    bytes.setUint8(at, beforeText.charCodeAt(index));
  }
  for (let shift = 24; shift >= 0; shift -= 8, at += 2) {
    bytes.setUint16(at, digitsOf[(crc >>> shift) & 255]!); // The index is a byte.
  }
  bytes.setUint16(at, afterDigits);
  bytes.setUint8(at + 2, newline);
  return at + 3;
}

/** Whether `[start, end)`, a line without its newline, ends in its right checksum. */
export function hasChecksum(bytes: DataView, start: number, end: number): boolean {
  const checksumStart = end + 1 - checksumBytes;
  if (checksumStart <= start || !beforeDigits.isAt(bytes, checksumStart) || bytes.getUint16(end - 2) !== afterDigits) {
    return false;
  }
  const crc = crcOf(bytes, start, checksumStart);
  for (let shift = 24, at = checksumStart + beforeDigits.length; shift >= 0; shift -= 8, at += 2) {
    if (bytes.getUint16(at) !== digitsOf[(crc >>> shift) & 255]) {
      return false;
    }
  }
  return true;
}

/**
 * The end of the line with a right checksum that begins at `start` and ends at `end` or before it; -1 if there is none.
 * Its newline may be missing. Text within a line cannot look like a checksum, since its quotes are escaped. A client
 * may choose a text that ends in `{` so that the rest of its line has the checksum of the whole line: the comma after
 * the text's quote shows that no line starts there.
 */
export function endOfChecksummedLine(bytes: DataView, start: number, end: number): number {
  if (start + 2 < end && bytes.getUint8(start + 2) === comma) {
    return -1;
  }
  for (let at = start; at <= end + 1 - checksumBytes; at++) {
    if (beforeDigits.isAt(bytes, at)) {
      const lineEnd = at + checksumBytes - 1;
      return hasChecksum(bytes, start, lineEnd) ? lineEnd : -1;
    }
  }
  return -1;
}

export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

export function textOf({ buffer, byteOffset }: DataView, start: number, end: number): string {
  return Buffer.from(buffer, byteOffset + start, end - start).toString();
}

function crcOf({ buffer, byteOffset }: DataView, start: number, end: number): number {
  return crc32(new Uint8Array(buffer, byteOffset + start, end - start));
}

export interface LineFault {
  /** "damage": a crash or a flipped bit may leave it. "wrong": its checksum is right, so no crash caused it. */
  readonly kind: "damage" | "wrong";
  readonly reason: string;
}
