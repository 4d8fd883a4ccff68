/** "000" to "999". */
const threeDigits: readonly string[] = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, "0"));

/**
 * The digits of an integer of 0 or more, for numbers that do not repeat. V8 keeps the text of each number that `String`
 * converts, and the collector then has to move them all.
 */
export function decimal(integer: number): string {
  return integer < 1_000 ? String(integer) : decimal(Math.floor(integer / 1_000)) + threeDigits[integer % 1_000];
}
