import { Buffer } from "node:buffer";

/** "000" to "999". */
const threeDigits: readonly string[] = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, "0"));

/**
 * The digits of an integer of 0 or more, for numbers that do not repeat. V8 caches the text of each number that
 * `String` converts, and the collector then has to move them all.
 */
export function decimal(integer: number): string {
  return integer < 1_000 ? String(integer) : decimal(Math.floor(integer / 1_000)) + threeDigits[integer % 1_000];
}

/**
 * A copy of well-formed text from outside that is to be stored. V8 makes a slice of a text without copying it, so 15
 * characters of a header field would hold the whole field in memory.
 */
export function detachedCopy(text: string): string {
  return Buffer.from(text).toString();
}

/** Whether the text can be percent-decoded: its escapes are complete, and their bytes are UTF-8. */
export function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
