import { Buffer } from "node:buffer";

/** "000" to "999". */
const threeDigits: readonly string[] = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, "0"));

/**
 * The digits of an integer of 0 or more, for numbers that do not repeat. V8 keeps the text of each number that `String`
 * converts, and the collector then has to move them all.
 */
export function decimal(integer: number): string {
  return integer < 1_000 ? String(integer) : decimal(Math.floor(integer / 1_000)) + threeDigits[integer % 1_000];
}

/**
 * A copy of well-formed text that comes from outside and is to be kept. V8 makes a piece of a text without copying it:
 * 15 characters of a field would keep all 16,384 in memory.
 */
export function detachedCopy(text: string): string {
  return Buffer.from(text).toString();
}

/** Whether a text can be decoded: its escapes are whole, and UTF-8. */
export function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
