#!/usr/bin/env node
/** The program: serves, or runs a command. No logic of its own. */

import { isatty } from "node:tty";

import { run } from "./cli/run.ts";
import { finishOutput, processTerminal, stopSignal } from "./cli/terminal.ts";

const terminal = processTerminal();
let isServer = false;
const code = await run(process.argv.slice(2), terminal, (isServing) => {
  isServer = isServing;
  // A command has nothing to read again at SIGHUP.
  return stopSignal(isatty(0) || !isServing);
});
// Node's own end would wait for connections that a client of the database has left open, and removes the listeners for
// signals first: a repeated signal would kill it.
process.exit(await finishOutput(terminal, code, isServer));
