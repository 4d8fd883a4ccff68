/**
 * Names for requests that come without one: nine digits in base 36, random where this process began and counted on
 * from there, and three decimal ones. No two requests of a process have the same, and hardly ever those of two.
 *
 * Twelve characters, because V8 joins texts into a flat one only up to there: node:http runs a regular expression over
 * the value of each field, and on any other joined text that costs 1 % of a request.
 */

import { randomInt } from "node:crypto";

import { threeDigits } from "../decimal.ts";

const prefixLength = 9;
const prefixCount = 36 ** prefixLength;

export class RequestIds {
  #prefixNumber = randomInt(prefixCount);
  #prefix = prefixOf(this.#prefixNumber);
  #count = 0;

  next(): string {
    if (this.#count === threeDigits.length) {
      this.#prefixNumber = (this.#prefixNumber + 1) % prefixCount;
      this.#prefix = prefixOf(this.#prefixNumber);
      this.#count = 0;
    }
    return this.#prefix + threeDigits[this.#count++]!; // Below its length.
  }
}

function prefixOf(number: number): string {
  return number.toString(36).padStart(prefixLength, "0");
}
