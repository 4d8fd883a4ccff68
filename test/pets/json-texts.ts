/**
 * Random JSON texts. Small pools on purpose: names repeat, escapes meet raw characters, numbers are written in every
 * way that RFC 8259 allows.
 */

import type { SeededRandom } from "../support/seeded-random.ts";

const spaces = ["", "", "", " ", "\t", "\n", "\r", " \r\n "];
const characters = [
  "a", "é", "€", "😀", "\u2028", "\u007f", "\ufeff", "\ud800", "\udc00",
  '\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0000", "\\u0061", "\\uD83D\\uDE00", "\\ud800", "\\uDFFF",
];
const names = ["a", "\\u0061", "b", "", "__proto__", "1", "constructor"];
const digits = ["0", "1", "9", "10", "007", "9007199254740993", "00000000000000000000"];
export function randomNumberText(random: SeededRandom): string {
  const sign = random.oneIn(3) ? "-" : "";
  const whole = random.oneIn(3) ? "0" : `${random.integer(1, 9)}${random.oneIn(2) ? random.pick(digits) : ""}`;
  const fraction = random.oneIn(3) ? `.${random.pick(digits)}` : "";
  const exponent = random.pick(["e", "E"]) + random.pick(["", "+", "-"]) + random.pick(digits);
  return sign + whole + fraction + (random.oneIn(3) ? exponent : "");
}

/** A member's name, quoted and perhaps escaped. */
export function randomName(random: SeededRandom): string {
  return `"${random.pick(names)}"`;
}

function randomStringText(random: SeededRandom): string {
  return `"${random.times(random.integer(0, 5), () => random.pick(characters)).join("")}"`;
}

export function randomJsonText(random: SeededRandom, depth: number = random.integer(0, 4)): string {
  const padded = (text: string) => random.pick(spaces) + text + random.pick(spaces);
  const item = () => randomJsonText(random, depth - 1);
  switch (random.integer(0, depth > 0 ? 7 : 4)) {
    case 0:
      return padded(random.pick(["true", "false", "null"]));
    case 1:
    case 2:
      return padded(randomNumberText(random));
    case 3:
    case 4:
      return padded(randomStringText(random));
    case 5:
      return padded(`[${random.times(random.integer(0, 4), item).join(",") || random.pick(spaces)}]`);
    default: {
      const member = () => `${padded(randomName(random))}:${item()}`;
      return padded(`{${random.times(random.integer(0, 4), member).join(",") || random.pick(spaces)}}`);
    }
  }
}
