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

const commands: Readonly<Record<string, () => Promise<Command>>> = {
  keys: async () => {
    const { keys } = await import("./keys.ts");
    return (args, terminal) => keys(args, terminal);
  },
  check: async () => {
    const { check } = await import("./check.ts");
    return (args, terminal) => check(args, terminal);
  },
  import: async () => (await import("./import.ts")).importAnimals,
  export: async () => (await import("./export.ts")).exportAnimals,
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
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  try {
    if (name === "version" || name === "-v" || args.includes("--version")) {
      terminal.stdout(`${release}\n`);
    } else if (name === "help" || args.includes("--help") || args.includes("-h")) {
      const { helpText } = await import("./help.ts");
      terminal.stdout(helpText(name === "help" ? rest : args));
    } else if (load !== undefined) {
      const command = await load();
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
    const isNamed = message.startsWith("Cannot ") || load === undefined;
    terminal.report(isNamed ? message : `Cannot run ${name}: ${message}`, "error");
    return error instanceof UsageError ? exitUsage : exitFailure;
  }
}
