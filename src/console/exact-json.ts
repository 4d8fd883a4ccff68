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

/** As `JSON.parse`, but each number becomes a string with its text. @throws {SyntaxError} */
export function parseExact(text: string): unknown {
  return JSON.parse(text.replace(stringOrNumber, (token) => (token.startsWith('"') ? token : `"${token}"`)));
}

/** A piece of JSON laid out for reading. The kinds are classes of the style sheet. */
export interface JsonPiece {
  readonly kind: "name" | "string" | "number" | "word" | "mark";
  readonly text: string;
}

/** The text in lines and indented; every name, string and number exactly as it stands. @throws {SyntaxError} */
export function layOutJson(text: string): readonly JsonPiece[] {
  JSON.parse(text);
  const tokens = text.match(/"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"{}[\]:,]+|[{}[\]:,]/g) ?? [];
  let depth = 0;
  const newLine = (): string => `\n${"  ".repeat(Math.min(depth, 40))}`; // Deeper, the spaces would be most.
  return tokens.map((token, index) => {
    const following = tokens[index + 1];
    switch (token) {
      case "{":
      case "[":
        depth++;
        return { kind: "mark", text: "}]".includes(following ?? "") ? token : token + newLine() };
      case "}":
      case "]":
        depth--;
        return { kind: "mark", text: /^[{[]$/.test(tokens[index - 1] ?? "") ? token : newLine() + token };
      case ",":
        return { kind: "mark", text: token + newLine() };
      case ":":
        return { kind: "mark", text: ": " };
      default:
        return { kind: kindOf(token, following), text: token };
    }
  });
}

function kindOf(token: string, following: string | undefined): JsonPiece["kind"] {
  if (token.startsWith('"')) {
    return following === ":" ? "name" : "string";
  }
  return /^[-0-9]/.test(token) ? "number" : "word";
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
