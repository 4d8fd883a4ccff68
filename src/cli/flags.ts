/**
 * Command-line flags, the same for the server and each command: `--name value`, `--name=value`, switches without a
 * value, and operands. What a flag's value means is not decided here.
 */

export interface Flags {
  /** Flag name without its dashes -> value; switches hold "". Of a flag given twice, the later one. */
  readonly values: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
}

/** Somebody typed what we cannot follow: exit code 2 (contract, section 1). The message is one line. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** `known` says of each flag whether a value follows it. */
export type KnownFlags = Readonly<Record<string, "value" | "switch">>;

/** @throws {UsageError} for an unknown flag, a value that is missing, or one that a switch does not take */
export function parseFlags(args: readonly string[], known: KnownFlags): Flags {
  const values = new Map<string, string>();
  const operands: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? "";
    if (!argument.startsWith("-")) {
      operands.push(argument);
      continue;
    }
    const equals = argument.indexOf("=");
    const flag = equals === -1 ? argument : argument.slice(0, equals);
    const kind = flag.startsWith("--") && Object.hasOwn(known, flag.slice(2)) ? known[flag.slice(2)] : undefined;
    if (kind === undefined) {
      throw new UsageError(`Cannot use ${flag}: unknown flag; --help lists those there are`);
    }
    if (kind === "switch") {
      if (equals !== -1) {
        throw new UsageError(`Cannot use ${argument}: ${flag} takes no value`);
      }
      values.set(flag.slice(2), "");
    } else if (equals !== -1) {
      values.set(flag.slice(2), argument.slice(equals + 1));
    } else {
      const value = args[++index];
      if (value === undefined) {
        throw new UsageError(`Cannot use ${flag}: a value must follow it`);
      }
      values.set(flag.slice(2), value);
    }
  }
  return { values, operands };
}
