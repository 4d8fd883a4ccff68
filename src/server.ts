#!/usr/bin/env node
/** The program: serves, or runs a command. No logic of its own. */

import { isatty } from "node:tty";

import { endProcess, finishOutput, stopSignal } from "./cli/ending.ts";
import { run } from "./cli/run.ts";
import { processTerminal } from "./cli/terminal.ts";

const terminal = processTerminal();
let isServer = false;
const code = await run(process.argv.slice(2), terminal, (isServing) => {
  isServer = isServing;
  // A command has nothing to read again at SIGHUP.
  return stopSignal(isatty(0) || !isServing);
});
await endProcess(await finishOutput(terminal, code, isServer));
