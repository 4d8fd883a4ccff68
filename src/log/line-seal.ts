/**
 * The seal of a log line, whoever's line it is:
 *
 *     sealed-line = "{" … ',"crc":"' 8(lower-case hexadecimal digit) '"}' LF
 *
 * The digits are the CRC-32 of all bytes of the line before `,"crc"` (contract, section 7). A line stays a JSON object,
 * and a person checks one with `head -c -20 | gzip -c | tail -c8 | xxd`.
 */

import { crc32 } from "./crc32.ts";

const beforeDigits = Buffer.from(',"crc":"', "latin1");
const afterDigits = Buffer.from('"}', "latin1");
const digits = Buffer.from("0123456789abcdef", "latin1");

/** Bytes that a seal puts in the place of the object's `}`, the newline included. */
export const sealBytes: number = beforeDigits.length + 8 + afterDigits.length + 1;

/** `{"a":1}` becomes `{"a":1,"crc":"…"}` and a newline. `json` has to be an object with a member. */
export function sealLine(json: string): string {
  const content = json.slice(0, -1);
  const bytes = Buffer.from(content);
  return `${content},"crc":"${crc32(bytes, 0, bytes.length).toString(16).padStart(8, "0")}"}\n`;
}

/** Seals the line `[start, end)`, which has no `}` yet, in place; returns the end of it all. */
export function sealBytesAt(bytes: Uint8Array, start: number, end: number): number {
  const crc = crc32(bytes, start, end);
  bytes.set(beforeDigits, end);
  let at = end + beforeDigits.length;
  for (let shift = 28; shift >= 0; shift -= 4) {
    bytes[at++] = digits[(crc >>> shift) & 15]!; // 16 digits, 4 bits
  }
  bytes.set(afterDigits, at);
  at += afterDigits.length;
  bytes[at] = 0x0a;
  return at + 1;
}

/** Whether `[start, end)`, a line without its newline, ends in a right checksum. */
export function isSealed(bytes: Uint8Array, start: number, end: number): boolean {
  const sealStart = end + 1 - sealBytes;
  return sealStart > start && isSealAt(bytes, start, sealStart, end);
}

/** Whether the seal of the line that begins at `start` stands at `sealStart`, whole before `end`, and is right. */
export function isSealAt(bytes: Uint8Array, start: number, sealStart: number, end: number): boolean {
  const digitsStart = sealStart + beforeDigits.length;
  const digitsEnd = digitsStart + 8;
  if (digitsEnd + afterDigits.length > end || !matches(bytes, sealStart, beforeDigits)) {
    return false;
  }
  let crc = 0;
  for (let at = digitsStart; at < digitsEnd; at++) {
    const digit = hexadecimalDigit(bytes[at]!); // below `end`
    if (digit < 0) {
      return false;
    }
    crc = (crc << 4) | digit;
  }
  return matches(bytes, digitsEnd, afterDigits) && crc32(bytes, start, sealStart) === crc >>> 0;
}

/** Whether `literal` stands at `at`. Beyond the end of `bytes` nothing does. */
export function matches(bytes: Uint8Array, at: number, literal: Uint8Array): boolean {
  for (let index = 0; index < literal.length; index++) {
    if (bytes[at + index] !== literal[index]) {
      return false;
    }
  }
  return true;
}

/** -1 for what is not a lower-case hexadecimal digit. */
function hexadecimalDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) {
    return byte - 0x30;
  }
  return byte >= 0x61 && byte <= 0x66 ? byte - 0x57 : -1;
}
