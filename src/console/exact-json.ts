/**
 * JSON whose numbers keep every digit. `JSON.parse` rounds an int64 beyond 2^53; here a number becomes its own text.
 */

import { escapeHidden } from "./visible.ts";

/** An animal as the API shows it. */
export interface Pet {
  readonly id: string;
  readonly name: string;
  readonly categoryId: string;
  readonly status: string;
}

const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;

/**
 * As `JSON.parse`, but each number becomes a string with its text. The content of this API is an object or an array.
 *
 * @throws {SyntaxError} the text is no JSON
 */
export function parseExact(text: string): unknown {
  return JSON.parse(text.replace(stringOrNumber, (token) => (token.startsWith('"') ? token : `"${token}"`)));
}

/** Returns undefined unless the text is a whole number; any number of digits, since the service judges the range. */
export function parseWholeNumber(text: string): string | undefined {
  const digits = text.trim();
  return /^[+-]?[0-9]{1,100}$/.test(digits) ? String(BigInt(digits.replace("+", ""))) : undefined;
}

/** A NewPet body. `categoryId` is the text of a whole number, and goes in digit by digit. */
export function newPetJson({ name, categoryId, status }: Omit<Pet, "id">): string {
  const nameJson = escapeHidden(JSON.stringify(name));
  return `{"name":${nameJson},"categoryId":${categoryId},"status":${JSON.stringify(status)}}`;
}
