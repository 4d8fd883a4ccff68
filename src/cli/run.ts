/**
 * Runs a command line, from its arguments to its exit code.
 */

import { messageOf } from "../disk/error-message.ts";
import { oneLine } from "../options.ts";
import { version } from "../version.ts";
import { check } from "./check.ts";
import { exportAnimals } from "./export.ts";
import { UsageError } from "./parse-flags.ts";
import { helpText } from "./help.ts";
import { importAnimals } from "./import.ts";
import { keys } from "./keys.ts";
import { serve } from "./serve.ts";
import { exitDone, exitFailure, exitUsage, type Terminal } from "./terminal.ts";

const commands: Readonly<Record<string, (args: readonly string[], terminal: Terminal) => Promise<number>>> = {
  keys,
  check,
  import: importAnimals,
  export: exportAnimals,
};

/**
 * Resolves to the exit code, after one line on standard error if something went wrong. Never rejects.
 *
 * @param stopSignal called if the server is to run; it stops when the signal is aborted
 */
export async function run(
  args: readonly string[],
  terminal: Terminal,
  stopSignal: () => AbortSignal,
): Promise<number> {
  try {
    return await dispatch(args, terminal, stopSignal);
  } catch (error) {
    terminal.stderr(`${oneLine(messageOf(error))}\n`);
    return error instanceof UsageError ? exitUsage : exitFailure;
  }
}

async function dispatch(
  args: readonly string[],
  terminal: Terminal,
  stopSignal: () => AbortSignal,
): Promise<number> {
  if (args.includes("--version")) {
    terminal.stdout(`${version}\n`);
    return exitDone;
  }
  if (args.includes("--help") || args.includes("-h")) {
    terminal.stdout(helpText(args));
    return exitDone;
  }
  const [name = "", ...rest] = args;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command !== undefined) {
    return command(rest, terminal);
  }
  await serve(args, terminal, stopSignal());
  return exitDone;
}
