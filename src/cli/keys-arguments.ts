/**
 * The arguments of `keys …`, read strictly: what is not known is refused by name, and nothing is guessed.
 *
 *     arguments = COMMAND *( FLAG / ID )            ; in any order behind COMMAND
 *     FLAG      = "--" name ( SP value / "=" value )
 *
 * What stands where an id belongs is never repeated in a message: it may be a secret, pasted in the wrong place.
 */

export interface KeysArguments {
  readonly command: CommandName;
  readonly id: string | undefined;
  readonly flags: ReadonlyMap<FlagName, string>;
}

export type CommandName = "create" | "list" | "revoke" | "plan" | "rotate" | "unban";

export type FlagName = "data" | "plan" | "per-minute" | "per-day" | "label" | "expires" | "grace";

/** What was typed is not how the command is used. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

interface Command {
  readonly takesId: boolean;
  readonly flags: readonly FlagName[];
  readonly required: readonly FlagName[];
  readonly usage: string;
}

const planUsage = "  --plan NAME         free, pro, business or enterprise";
const numbersUsage = `  --per-minute N      requests a minute: enterprise only, and needed there
  --per-day N         requests a day: likewise`;
const dataUsage = "  --data FOLDER       the data folder (also ANIMAL_STORE_DATA; default: data)";

const commands: Readonly<Record<CommandName, Command>> = {
  create: {
    takesId: false,
    flags: ["data", "plan", "per-minute", "per-day", "label", "expires"],
    required: [],
    usage: `Usage: keys create [FLAGS]
Makes a key and prints it, alone, on standard output. It is shown this once: only its SHA-256 is kept.

${planUsage} (default: free)
${numbersUsage}
  --label TEXT        at most 64 printable characters, for the list
  --expires ISO-DATE  from then on it is refused: 2030-01-31 (its first instant in UTC) or 2030-01-31T12:00:00Z
${dataUsage}
`,
  },
  list: {
    takesId: false,
    flags: ["data"],
    required: [],
    usage: `Usage: keys list [FLAGS]
Prints a line for each key: id, state, plan, quota, made, expires, label. States: active, rotated (active, and an old
secret still works), expired, revoked.

${dataUsage}
`,
  },
  revoke: {
    takesId: true,
    flags: ["data"],
    required: [],
    usage: `Usage: keys revoke ID [FLAGS]
Ends a key for good. A running server refuses it within a second.

${dataUsage}
`,
  },
  plan: {
    takesId: true,
    flags: ["data", "plan", "per-minute", "per-day"],
    required: ["plan"],
    usage: `Usage: keys plan ID --plan NAME [FLAGS]
Changes a key's plan. What is already used in the open windows stays used, and a ban stays.

${planUsage}
${numbersUsage}
${dataUsage}
`,
  },
  rotate: {
    takesId: true,
    flags: ["data", "grace"],
    required: [],
    usage: `Usage: keys rotate ID [FLAGS]
Prints a new secret, alone, on standard output. The key keeps its id, plan, counters and bans.

  --grace SECONDS     how long the old secret works beside it (default: 0)
${dataUsage}
`,
  },
  unban: {
    takesId: true,
    flags: ["data"],
    required: [],
    usage: `Usage: keys unban ID [FLAGS]
Lifts a key's ban.

${dataUsage}
`,
  },
};

const overview = `Usage: keys COMMAND
  create            makes a key and prints it
  list              prints a line for each key
  revoke ID         ends a key for good
  plan ID           changes a key's plan
  rotate ID         gives a key a new secret and prints it
  unban ID          lifts a key's ban
"keys COMMAND --help" says more. A running server follows within a second.
`;

/** The help that was asked for, which is printed and nothing else done; undefined where none was. */
export function helpAsked(args: readonly string[]): string | undefined {
  if (!args.includes("--help") && !args.includes("-h")) {
    return undefined;
  }
  const name = commandNamed(args[0]);
  return name === undefined ? overview : commands[name].usage;
}

/** @throws {UsageError} */
export function readKeysArguments(args: readonly string[]): KeysArguments {
  const command = commandNamed(args[0]);
  if (command === undefined) {
    throw new UsageError(`Cannot run keys: must be one of ${Object.keys(commands).join(", ")}; see keys --help`);
  }
  const { flags, ids } = split(command, args.slice(1));
  const { takesId, required } = commands[command];
  if (ids.length !== (takesId ? 1 : 0)) {
    throw misuse(command, takesId ? `it takes one ID, received ${ids.length}` : "it takes flags only");
  }
  for (const name of required) {
    if (!flags.has(name)) {
      throw misuse(command, `--${name} is missing`);
    }
  }
  return { command, id: ids[0], flags };
}

function commandNamed(text: string | undefined): CommandName | undefined {
  const names = ["create", "list", "revoke", "plan", "rotate", "unban"] as const;
  return names.find((name) => name === text);
}

function split(command: CommandName, args: readonly string[]): { flags: Map<FlagName, string>; ids: string[] } {
  const flags = new Map<FlagName, string>();
  const ids: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index] ?? "";
    if (!argument.startsWith("-")) {
      ids.push(argument);
      continue;
    }
    const equals = argument.indexOf("=");
    const text = equals < 0 ? argument : argument.slice(0, equals);
    const name = commands[command].flags.find((flag) => `--${flag}` === text);
    if (name === undefined) {
      throw misuse(command, `unknown flag ${text}`);
    }
    if (flags.has(name)) {
      throw misuse(command, `${text} is given twice`);
    }
    const value = equals < 0 ? args[(index += 1)] : argument.slice(equals + 1);
    if (value === undefined) {
      throw misuse(command, `${text} needs a value`);
    }
    flags.set(name, value);
  }
  return { flags, ids };
}

function misuse(command: CommandName, reason: string): UsageError {
  return new UsageError(`Cannot run keys ${command}: ${reason}; see keys ${command} --help`);
}
