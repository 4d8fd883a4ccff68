/**
 * The outcome of validation: a value, or one message that names every fault.
 */

import { quote } from "./quote-value.ts";

export type Validation<Value> =
  | { readonly kind: "valid"; readonly value: Value }
  | { readonly kind: "invalid"; readonly message: string };

/** How many members or parameters a message names; the others are counted. */
const faultsNamedMax = 10;

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

  /** `opening`, then every fault. Names are the client's text: quoting bounds them and masks keys. */
  invalid(opening: string): Validation<never> {
    const named = [...(this.#problems ?? [])]
      .slice(0, faultsNamedMax)
      .map(([name, problem]) => `${quote(name)} ${problem}`);
    const more = this.count > faultsNamedMax ? `; and ${this.count - faultsNamedMax} more` : "";
    return { kind: "invalid", message: `${opening}: ${named.join("; ")}${more}.` };
  }
}
