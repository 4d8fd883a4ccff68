/**
 * Runs a command line, from its arguments to its exit code. What a command needs is loaded when it runs: loading one
 * file takes about half a millisecond.
 */

import { messageOf } from "../base/error-message.ts";
import { oneLine } from "../base/redact-secrets.ts";
import { release } from "../base/release.ts";
import { explain } from "../disk/file-errors.ts";
import { UsageError } from "./parse-flags.ts";
import { exitDone, exitFailure, exitUsage, type Terminal } from "./terminal.ts";

type Command = (args: readonly string[], terminal: Terminal, stopSignal: () => AbortSignal) => Promise<number>;

const commands: Readonly<Record<string, Command>> = {
  keys: async (args, terminal) => (await import("./keys.ts")).keys(args, terminal),
  check: async (args, terminal) => (await import("./check.ts")).check(args, terminal),
  import: async (...given) => (await import("./import.ts")).importAnimals(...given),
  export: async (args, terminal) => (await import("./export.ts")).exportAnimals(args, terminal),
};

/**
 * Resolves to the exit code, after one line on standard error if something went wrong. Never rejects.
 * @param stopSignal called for the server, or for a command that a signal must not cut off: its abort stops them
 */
export async function run(
  args: readonly string[],
  terminal: Terminal,
  stopSignal: (isServer: boolean) => AbortSignal,
): Promise<number> {
  const [name = "", ...rest] = args;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  try {
    if (name === "version" || name === "-v" || args.includes("--version")) {
      terminal.stdout(`${release}\n`);
    } else if (name === "help" || args.includes("--help") || args.includes("-h")) {
      const { helpText } = await import("./help.ts");
      terminal.stdout(helpText(name === "help" ? rest : args));
    } else if (command !== undefined) {
      return await command(rest, terminal, () => stopSignal(false));
    } else {
      const stopping = stopSignal(true); // Before the server is loaded, which takes most of a start.
      const { serve } = await import("./serve.ts");
      await serve(args, terminal, stopping);
    }
    return exitDone;
  } catch (error) {
    const message = oneLine(messageOf(await explain(error)));
    // An error of the system says only which call failed.
    const isNamed = message.startsWith("Cannot ") || command === undefined;
    terminal.report(isNamed ? message : `Cannot run ${name}: ${message}`, "error");
    return error instanceof UsageError ? exitUsage : exitFailure;
  }
}
