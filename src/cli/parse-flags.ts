/** Command lines: flags, `--name VALUE` or `--name=VALUE`, switches, which take no value, and operands. */

import { parseArgs } from "node:util";

/** The command line is not valid: exit code 2. The message is one line. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export interface Flags<Name extends string> {
  /** The last occurrence of a flag wins. A switch has the value "". */
  readonly values: ReadonlyMap<Name, string>;
  readonly operands: readonly string[];
}

/**
 * @param names of all flags, without dashes
 * @param switches the names of those that take no value
 * @throws {UsageError} for an unknown flag, a missing value, or a value for a switch
 */
export function parseFlags<Name extends string>(
  args: readonly string[],
  names: readonly Name[],
  switches: readonly Name[] = [],
): Flags<Name> {
  const isSwitch = (name: Name): boolean => switches.includes(name);
  const options = Object.fromEntries(
    names.map((name) => [name, { type: isSwitch(name) ? ("boolean" as const) : ("string" as const) }]),
  );
  const { tokens, positionals } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const values = new Map<Name, string>();
  for (const token of tokens.filter((one) => one.kind === "option")) {
    const name = names.find((one) => `--${one}` === token.rawName);
    if (name === undefined) {
      throw new UsageError(`Cannot use ${token.rawName}: unknown flag; see --help`);
    }
    // In `--label --expires=…` the label was forgotten. `--label=--expires` says that it is meant.
    const isFlag = token.inlineValue === false && names.some((one) => `--${one}` === token.value.split("=", 1)[0]);
    if (isFlag || isSwitch(name) !== (token.value === undefined)) {
      const reason = isSwitch(name) ? "it takes no value" : "its value is missing";
      throw new UsageError(`Cannot use ${token.rawName}: ${reason}`);
    }
    values.set(name, token.value ?? "");
  }
  return { values, operands: positionals };
}

/** Quotes a word for a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
