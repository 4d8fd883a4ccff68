/**
 * The tokens of a JSON text (RFC 8259, sections 2, 6 and 7), one after the other. Knows nothing of how they nest.
 */

import { JsonNumber } from "./json-value.ts";
import { quote } from "./quote.ts";

/** Not JSON. The message is for the client: what was expected where, and what stood there. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const quotationMark = 0x22;
const plus = 0x2b;
const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;
const upperE = 0x45;
const backslash = 0x5c;
const lowerE = 0x65;

/** What follows a backslash, `u` apart. */
const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

/** Stands at a position in the text. Taking and reading move it on; what throws leaves it at the character at fault. */
export class JsonScanner {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The code unit after white space (NaN at the end), which the position then stands on. */
  skipSpace(): number {
    let position = this.#position;
    let code = this.#text.charCodeAt(position);
    while (code === space || code === lineFeed || code === carriageReturn || code === tab) {
      position += 1;
      code = this.#text.charCodeAt(position);
    }
    this.#position = position;
    return code;
  }

  /** Takes a structural character (RFC 8259, section 2) and white space before it; false where another stands there. */
  takeStructural(code: number): boolean {
    if (this.skipSpace() !== code) {
      return false;
    }
    this.#position += 1;
    return true;
  }

  #take(code: number): boolean {
    if (this.#text.charCodeAt(this.#position) !== code) {
      return false;
    }
    this.#position += 1;
    return true;
  }

  /** `value`, where `literal` stands here. */
  readLiteral(literal: string, value: boolean | null): boolean | null {
    if (!this.#text.startsWith(literal, this.#position)) {
      throw this.expected("a value");
    }
    this.#position += literal.length;
    return value;
  }

  /** number = [ minus ] int [ frac ] [ exp ] (RFC 8259, section 6) */
  readNumber(): JsonNumber {
    const start = this.#position;
    const isNegative = this.#take(minus);
    if (!this.#take(zero)) {
      this.#readDigits(isNegative ? "a digit" : "a value");
    }
    if (this.#take(point)) {
      this.#readDigits("a digit");
    }
    if (this.#take(lowerE) || this.#take(upperE)) {
      if (!this.#take(minus)) {
        this.#take(plus);
      }
      this.#readDigits("a digit");
    }
    return new JsonNumber(this.#text.slice(start, this.#position));
  }

  #readDigits(expected: string): void {
    const start = this.#position;
    let position = start;
    while (isDigit(this.#text.charCodeAt(position))) {
      position += 1;
    }
    if (position === start) {
      throw this.expected(expected);
    }
    this.#position = position;
  }

  /** The string whose opening quotation mark stands here, unescaped (RFC 8259, section 7). */
  readString(): string {
    let unescaped = "";
    let start = this.#position + 1;
    for (let position = start; ; position += 1) {
      const code = this.#text.charCodeAt(position);
      if (code === quotationMark) {
        this.#position = position + 1;
        return unescaped + this.#text.slice(start, position);
      }
      if (code === backslash) {
        this.#position = position + 1;
        unescaped += this.#text.slice(start, position) + this.#readEscape();
        start = this.#position;
        position = start - 1;
      } else if (!(code >= space)) {
        // A control character, or NaN: the end of the text.
        this.#position = position;
        throw this.expected(code < space ? "control characters to be escaped" : "a closing quotation mark");
      }
    }
  }

  #readEscape(): string {
    const letter = this.#text.charAt(this.#position);
    if (letter === "u") {
      this.#position += 1;
      return this.#readCodeUnit();
    }
    const character = escapes.get(letter);
    if (character === undefined) {
      throw this.expected('one of "\\/bfnrtu after a backslash');
    }
    this.#position += 1;
    return character;
  }

  #readCodeUnit(): string {
    let unit = 0;
    for (let count = 0; count < 4; count += 1) {
      const digit = Number.parseInt(this.#text.charAt(this.#position), 16);
      if (Number.isNaN(digit)) {
        throw this.expected("a hexadecimal digit");
      }
      unit = unit * 16 + digit;
      this.#position += 1;
    }
    return String.fromCharCode(unit);
  }

  /** The error that says what should stand here. */
  expected(what: string): JsonSyntaxError {
    const codePoint = this.#text.codePointAt(this.#position);
    const received = codePoint === undefined ? "the end" : quote(String.fromCodePoint(codePoint));
    return new JsonSyntaxError(
      `Cannot read JSON: expected ${what} at position ${this.#position}, received ${received}`,
    );
  }
}

function isDigit(code: number): boolean {
  return code >= zero && code <= nine;
}
