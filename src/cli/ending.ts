/** How the process ends: signals, what is still to be written, and file calls that hang. */

import { setTimeout as delay } from "node:timers/promises";

import { systemClock } from "../base/clock.ts";
import { exitFailure, type ProcessTerminal } from "./terminal.ts";

const pollMs = 10;

/** How long a program that has ended waits for a slow reader of its diagnostics. */
const exitGraceMs = 200;

/**
 * Waits for pending output when everything else is done. A command waits until its result is read, and fails if the
 * result is lost. A server waits only briefly, because its output is diagnostics. Resolves to the exit code.
 */
export async function finishOutput(terminal: ProcessTerminal, code: number, isServer: boolean): Promise<number> {
  const outputError = await terminal.finishStdout(isServer ? exitGraceMs : Infinity);
  const isFailed = outputError !== undefined && !isServer;
  if (isFailed) {
    const change = "what the command changed stays changed";
    terminal.stderr(`Cannot write to standard output: ${outputError.message}; ${change}\n`);
  }
  await terminal.finishStderr(exitGraceMs);
  terminal.closeGone();
  return isFailed ? exitFailure : code;
}

/** How long the end of the process waits for file calls, such as a write to the log or a look at the certificate. */
const fileCallsGraceMs = 1_000;

/** Ends the process with the code, or by SIGTERM if a file call that is still under way seems to hang. */
export async function endProcess(code: number): Promise<never> {
  const hasFileCalls = (): boolean => process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq"))
    && process.permission === undefined; // Calls that the permission model has refused stay in the list.
  const deadlineMs = systemClock.monotonicMs() + fileCallsGraceMs;
  while (hasFileCalls()) {
    if (systemClock.monotonicMs() >= deadlineMs) {
      return endBySignal("SIGTERM", code);
    }
    await delay(pollMs);
  }
  // Node's own end would wait for connections that a client of the database has left open, and removes the listeners
  // for signals first: a repeated signal would kill it.
  return process.exit(code);
}

/** Ends the process by the signal's own default action: `process.exit` waits for file calls, and those may hang. */
function endBySignal(signal: NodeJS.Signals, code: number): never {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  return process.exit(code); // Only the first process of a container gets here: its own signals do not end it.
}

/** npm, shells and `timeout` send a signal twice, or pass on one that the terminal sent to all. */
const repeatedWithinMs = 1_000;

/**
 * Returns a signal that is aborted by the first SIGTERM or SIGINT. A later one ends the program at once if it comes
 * more than `repeatedWithinMs` after the first.
 *
 * SIGHUP is one of them if the program was started in a terminal, which has then been closed. Elsewhere it means, by
 * custom, that files should be read again: the returned signal gets an event "hangup".
 */
export function stopSignal(hasTerminal: boolean): AbortSignal {
  const controller = new AbortController();
  const stopping = hasTerminal ? ["SIGTERM", "SIGINT", "SIGHUP"] : ["SIGTERM", "SIGINT"];
  let firstMs: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const nowMs = systemClock.monotonicMs();
    if (firstMs !== undefined && nowMs - firstMs > repeatedWithinMs) {
      endBySignal(signal, exitFailure);
    }
    firstMs ??= nowMs;
    controller.abort(new DOMException("a signal has ended it", "AbortError"));
  };
  stopping.forEach((name) => process.on(name, onSignal));
  if (!hasTerminal) {
    process.on("SIGHUP", () => controller.signal.dispatchEvent(new Event("hangup")));
  }
  process.on("SIGUSR1", () => undefined); // Otherwise Node opens its debugger, to every user of the machine.
  return controller.signal;
}
