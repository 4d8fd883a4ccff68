#!/usr/bin/env node
/**
 * The program: serves, or runs a command. No logic of its own.
 */

import { run } from "./cli/run.ts";
import { stopSignal } from "./cli/stop-signal.ts";
import { exitFailure, finishOutput, processTerminal } from "./cli/terminal.ts";

const terminal = processTerminal();
let isServer = false;
const code = await run(process.argv.slice(2), terminal, () => {
  isServer = true;
  return stopSignal(process, () => process.exit(exitFailure));
});
process.exitCode = await finishOutput(terminal, code, isServer);
