/** Collects what is wrong with what a client sent, so that one message names every fault. */

import { withoutSecrets } from "../base/redact-secrets.ts";

/** A value, or one message for the client that names every fault. */
export type Validation<Value> =
  | { readonly kind: "valid"; readonly value: Value }
  | { readonly kind: "invalid"; readonly message: string };

const faultsNamedMax = 10;

/** How many characters (code points) of a client's text are quoted at most. */
const quotedCharactersMax = 64;

/** Members or parameters at fault, each with the first problem found, in the order of discovery. */
export class Faults {
  /** Made with the first fault: most requests have none. */
  #problems: Map<string, string> | undefined;

  add(name: string, problem: string): void {
    this.#problems ??= new Map();
    if (!this.#problems.has(name)) {
      this.#problems.set(name, problem);
    }
  }

  get count(): number {
    return this.#problems?.size ?? 0;
  }

  /** The message begins with `opening`, then names every fault. */
  invalid(opening: string): Validation<never> {
    const named = [...(this.#problems ?? [])]
      .slice(0, faultsNamedMax)
      .map(([name, problem]) => `${quote(name)} ${problem}`);
    const more = this.count > faultsNamedMax ? `; and ${this.count - faultsNamedMax} more` : "";
    return { kind: "invalid", message: `${opening}: ${named.join("; ")}${more}.` };
  }
}

/** JSON leaves these as they are, but they are invisible or reorder text: controls, formats, separators. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * A client's text as a JSON string for a message: on one line, well-formed, and without keys. Longer text is cut
 * between two characters, and three dots follow.
 */
export function quote(text: string): string {
  const masked = withoutSecrets(text); // Before the cut, which could leave most of a key.
  // The first slice has enough code points: each has at most two code units.
  const cut = [...masked.slice(0, 2 * quotedCharactersMax)].slice(0, quotedCharactersMax).join("");
  const quoted = JSON.stringify(cut).replace(invisible, escapeUnits);
  return cut.length < masked.length ? `${quoted}...` : quoted;
}

/** Each UTF-16 code unit as `\uXXXX` (RFC 8259, 7). */
function escapeUnits(character: string): string {
  return character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}
