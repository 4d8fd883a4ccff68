#!/usr/bin/env node
/**
 * The program: serves, or runs a command; signals and exit codes. No logic of its own.
 */

import { check } from "./cli/check.ts";
import { UsageError } from "./cli/flags.ts";
import { helpText, versionText } from "./cli/help.ts";
import { importAnimals } from "./cli/import.ts";
import { keys } from "./cli/keys.ts";
import { serve } from "./cli/serve.ts";
import { exitDone, exitNotDone, exitUsage, type Terminal } from "./cli/terminal.ts";

const terminal: Terminal = {
  environment: process.env,
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
};

const commands: Readonly<Record<string, (args: readonly string[], terminal: Terminal) => Promise<number>>> = {
  keys,
  check,
  import: importAnimals,
};

/** Resolves to the exit code; undefined while the server runs. */
async function run(args: readonly string[]): Promise<number | undefined> {
  const [name = "", ...rest] = args;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command !== keys && (args.includes("--version") || args.includes("--help"))) { // `keys` has help of its own.
    terminal.stdout(args.includes("--version") ? versionText() : helpText(command === undefined ? undefined : name));
    return exitDone;
  }
  if (command !== undefined) {
    return command(rest, terminal);
  }
  const starting = serve(args, terminal);
  let isStopping = false;
  const onSignal = (): void => {
    if (isStopping) {
      process.exit(exitNotDone); // The second signal: whoever sends it does not want to wait.
    }
    isStopping = true;
    // A start that failed is told below; there is nothing to stop then.
    void starting.then(
      (server) => server.stop(),
      () => undefined,
    );
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  await starting;
  return undefined;
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  terminal.stderr(`${message.replaceAll("\n", " ")}\n`);
  process.exitCode = error instanceof UsageError ? exitUsage : exitNotDone;
}
