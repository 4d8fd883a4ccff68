/**
 * JSON whose numbers keep every digit. `JSON.parse` rounds an int64 beyond 2^53; here a number becomes its own text.
 */

import { escapeInvisible } from "./invisible-characters.ts";

/** An animal as the API shows it. The description names its other members. */
export interface Pet {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly [member: string]: unknown;
}

/** Whether it is an animal as `parseExact` reads one: a proxy may have made the content. */
export function isPet(body: unknown): body is Pet {
  const { id, name, status, ...others } = (body ?? {}) as Partial<Pet>;
  const texts = [name, status, ...Object.values(others)];
  return /^[0-9]+$/.test(`${id}`) && texts.every((member) => typeof member === "string");
}

const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;

/** As `JSON.parse`, but each number becomes a string with its text. @throws {SyntaxError} */
export function parseExact(text: string): unknown {
  return JSON.parse(text.replace(stringOrNumber, (token) => (token.startsWith('"') ? token : `"${token}"`)));
}

/** A piece of JSON laid out for reading. The kinds are classes of the style sheet. */
export interface JsonPiece {
  readonly kind: "name" | "string" | "number" | "mark";
  readonly text: string;
}

/** The text in lines and indented; every name, string and number exactly as it stands. @throws {SyntaxError} */
export function layOutJson(text: string): readonly JsonPiece[] {
  JSON.parse(text);
  const tokens = text.match(/"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"{}[\]:,]+|[{}[\]:,]/g) ?? [];
  let depth = 0;
  return tokens.flatMap((token, index) => {
    const next = tokens[index + 1] ?? "";
    const isOpening = token === "{" || token === "[";
    const isClosed = next === "}" || next === "]";
    depth += Number(isOpening) - Number(isClosed);
    const isLastOfLine = token === "," || isOpening !== isClosed;
    const newLine = `\n${"  ".repeat(Math.min(depth, 40))}`; // Beyond that, nearly all is spaces.
    const space = token === ":" ? " " : isLastOfLine ? newLine : "";
    return [{ kind: kindOf(token, next), text: token }, { kind: "mark", text: space }];
  });
}

function kindOf(token: string, next: string): JsonPiece["kind"] {
  if (token.startsWith('"')) {
    return next === ":" ? "name" : "string";
  }
  return /\w/.test(token) ? "number" : "mark"; // true, false and null look like numbers.
}

/** Returns undefined unless the text is a whole number; any number of digits, since the service judges the range. */
export function parseWholeNumber(text: string): string | undefined {
  const digits = text.trim();
  return /^[+-]?[0-9]{1,100}$/.test(digits) ? String(BigInt(digits.replace("+", ""))) : undefined;
}

/** A string of JSON, without characters that would not be seen. */
export function jsonText(text: string): string {
  return escapeInvisible(JSON.stringify(text));
}

/** @param digits of a whole number, as `parseWholeNumber` returns it */
export function isInt64(digits: string): boolean {
  return BigInt.asIntN(64, BigInt(digits)) === BigInt(digits);
}
