import { int64Max, int64Min } from "./members.ts";

/** The number of digits of `int64Max`. */
const digitsMax = 19;

/** Matches nearly all numbers, all of which are an int64 because they have so few digits. */
const plain = /^-?[0-9]{1,18}$/;

/** number = [ minus ] int [ frac ] [ exp ] (RFC 8259, 6) */
const number = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * The integer that a JSON number denotes, in any spelling (`5.0`, `50e-1`, `-0`), exact to the last digit. Returns
 * undefined if it has a fraction or is not an int64. No power is computed, so a huge exponent costs nothing.
 * @param text white space around the number is ignored
 */
export function toInt64(text: string): bigint | undefined {
  const trimmed = text.trim();
  if (plain.test(trimmed)) {
    return BigInt(trimmed);
  }
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = number.exec(trimmed) ?? [];
  const digits = whole + fraction;
  const first = digits.search(/[1-9]/);
  if (first === -1) {
    return 0n;
  }
  // Number() rounds an exponent beyond 2^53 or makes it infinite. No text has enough digits to make up for that.
  const pointAt = whole.length + Number(exponent);
  const isInteger = /^0*$/.test(digits.slice(Math.max(pointAt, 0)));
  const length = pointAt - first;
  if (!isInteger || length > digitsMax) {
    return undefined;
  }
  const integer = BigInt(sign + digits.slice(first, pointAt).padEnd(length, "0"));
  return integer >= int64Min && integer <= int64Max ? integer : undefined;
}
