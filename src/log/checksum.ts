/**
 * The seal of a log line, whoever's line it is:
 *
 *     sealed-line = "{" … ',"crc":"' 8(lower-case hexadecimal digit) '"}' LF
 *
 * The digits are the CRC-32 of all bytes of the line before `,"crc"` (contract, section 7). A line stays a JSON object,
 * and a person checks one with `head -c -20 | gzip -c | tail -c8 | xxd`.
 */

import { crc32 } from "./crc32.ts";
import { Literal, viewOf } from "./literal.ts";

const beforeDigits = new Literal(',"crc":"');
const digitCount = 8;
/** The two digits of each byte, as one number. */
const digitsOf: Uint16Array = Uint16Array.from({ length: 256 }, (_, byte) => {
  return Buffer.from(byte.toString(16).padStart(2, "0"), "latin1").readUInt16BE();
});
const newline = 0x0a;
/** `"}`, as one number. */
const afterDigits = 0x227d;

/** Bytes that a seal puts in the place of the object's `}`, the newline included. */
export const checksumBytes: number = beforeDigits.length + digitCount + 3;

/** `{"a":1}` becomes `{"a":1,"crc":"…"}` and a newline. `json` has to be an object with a member. */
export function lineWithChecksum(json: string): string {
  const content = json.slice(0, -1);
  const bytes = viewOf(Buffer.from(content));
  return `${content},"crc":"${crc32(bytes, 0, bytes.byteLength).toString(16).padStart(digitCount, "0")}"}\n`;
}

/** Seals the line `[start, end)`, which has no `}` yet, in place; returns the end of it all. */
export function writeChecksum(bytes: DataView, start: number, end: number): number {
  const crc = crc32(bytes, start, end);
  let at = beforeDigits.writeTo(bytes, end);
  for (let shift = 24; shift >= 0; shift -= 8, at += 2) {
    bytes.setUint16(at, digitsOf[(crc >>> shift) & 255]!); // a byte
  }
  bytes.setUint16(at, afterDigits);
  bytes.setUint8(at + 2, newline);
  return at + 3;
}

/** Whether `[start, end)`, a line without its newline, ends in a right checksum. */
export function hasChecksum(bytes: DataView, start: number, end: number): boolean {
  const checksumStart = end + 1 - checksumBytes;
  return checksumStart > start && isChecksumAt(bytes, start, checksumStart, end);
}

/** Whether the seal of the line that begins at `start` stands at `checksumStart`, whole before `end`, and is right. */
export function isChecksumAt(bytes: DataView, start: number, checksumStart: number, end: number): boolean {
  const digitsStart = checksumStart + beforeDigits.length;
  const digitsEnd = digitsStart + digitCount;
  if (digitsEnd + 2 > end || !beforeDigits.standsAt(bytes, checksumStart, end)) {
    return false;
  }
  const crc = crc32(bytes, start, checksumStart);
  for (let shift = 24, at = digitsStart; shift >= 0; shift -= 8, at += 2) {
    if (bytes.getUint16(at) !== digitsOf[(crc >>> shift) & 255]) {
      return false;
    }
  }
  return bytes.getUint16(digitsEnd) === afterDigits;
}
