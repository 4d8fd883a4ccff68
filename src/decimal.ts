/**
 * Decimals of numbers that are nearly always new.
 *
 * V8 keeps the text of each number that it has written, thousands of them, and the collector carries them all along:
 * 3 % of a request (0.36 us of 13) for texts that nobody asks for twice. These are put together from parts that are
 * there for ever.
 */

const upTo999: readonly string[] = Array.from({ length: 1_000 }, (_, number) => String(number));

/** "000" to "999". */
export const threeDigits: readonly string[] = upTo999.map((digits) => digits.padStart(3, "0"));

/** @param number an integer from 0 to `Number.MAX_SAFE_INTEGER` */
export function decimal(number: number): string {
  if (number < 1_000) {
    return upTo999[number]!; // There is one for each.
  }
  const thousands = Math.floor(number / 1_000);
  return decimal(thousands) + threeDigits[number - thousands * 1_000]!;
}
