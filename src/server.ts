#!/usr/bin/env node
/** The program: serves, or runs a command. No logic of its own. */

import { isatty } from "node:tty";

import { run } from "./cli/run.ts";
import { stopSignal } from "./cli/stop-signal.ts";
import { finishOutput, processTerminal } from "./cli/terminal.ts";

const terminal = processTerminal();
let isServer = false;
const code = await run(process.argv.slice(2), terminal, () => {
  isServer = true;
  return stopSignal(process, isatty(0), (signal) => {
    process.kill(process.pid, signal);
    process.exit(1); // Only the first process of a container gets here: its own signals do not end it.
  });
});
// Node's own end would wait for connections that a client of the database has left open, and removes the listeners for
// signals first: a repeated signal would kill it.
process.exit(await finishOutput(terminal, code, isServer));
