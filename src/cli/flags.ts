/**
 * Command-line flags: `--name VALUE` or `--name=VALUE`, and operands.
 */

import { parseArgs } from "node:util";

/** The command line cannot be followed: exit code 2. The message is one line. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export interface Flags<Name extends string> {
  /** The last occurrence of a flag wins. */
  readonly values: ReadonlyMap<Name, string>;
  readonly operands: readonly string[];
}

/**
 * @param names of the flags, without dashes; each takes a value
 * @throws {UsageError} for an unknown flag, or one without its value
 */
export function parseFlags<Name extends string>(args: readonly string[], names: readonly Name[]): Flags<Name> {
  const options = Object.fromEntries(names.map((name) => [name, { type: "string" as const }]));
  const { tokens, positionals } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const values = new Map<Name, string>();
  for (const token of tokens.filter((one) => one.kind === "option")) {
    const name = names.find((one) => `--${one}` === token.rawName);
    if (name === undefined) {
      throw new UsageError(`Cannot use ${token.rawName}: unknown flag; see --help`);
    }
    if (token.value === undefined) {
      throw new UsageError(`Cannot use ${token.rawName}: its value is missing`);
    }
    values.set(name, token.value);
  }
  return { values, operands: positionals };
}
