/**
 * What validation comes to: a value, or one message that names all that is at fault.
 */

import { quote } from "./quote.ts";

export type Validation<Value> =
  | { readonly kind: "valid"; readonly value: Value }
  | { readonly kind: "invalid"; readonly message: string };

/** So many members or parameters are named in one message; the others are counted (contract, section 3). */
export const faultsNamedMax = 10;

/** Members or parameters at fault, each with the first thing that was wrong with it, in the order of discovery. */
export class Faults {
  /** Made when the first fault is found: most of what is validated has none. */
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

  /** `opening`, then every fault. Names are the client's text: quoting bounds them. */
  invalid(opening: string): Validation<never> {
    const named = [...(this.#problems ?? [])]
      .slice(0, faultsNamedMax)
      .map(([name, problem]) => `${quote(name)} ${problem}`);
    const more = this.count > faultsNamedMax ? `; and ${this.count - faultsNamedMax} more` : "";
    return { kind: "invalid", message: `${opening}: ${named.join("; ")}${more}.` };
  }
}
