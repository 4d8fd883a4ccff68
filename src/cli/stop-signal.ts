/** SIGTERM, SIGINT and SIGHUP as an AbortSignal. */

import type { EventEmitter } from "node:events";

import { type Clock, systemClock } from "../base/clock.ts";

/** npm, shells and `timeout` send a signal twice, or pass on one that the terminal sent to all. */
const repeatedWithinMs = 1_000;

/**
 * Returns a signal that is aborted by the first SIGTERM or SIGINT. A later one ends the program at once if it comes
 * more than a second after the first. It ends by the signal's own default action, because `process.exit` waits for file
 * calls in progress, and those may hang.
 *
 * SIGHUP is one of them if the program was started in a terminal, which has then been closed. Elsewhere it means, by
 * custom, that files should be read again: the returned signal gets an event "hangup".
 */
export function stopSignal(
  program: EventEmitter,
  hasTerminal: boolean,
  endBy: (signal: NodeJS.Signals) => void,
  clock: Clock = systemClock,
): AbortSignal {
  const controller = new AbortController();
  const stopping = hasTerminal ? ["SIGTERM", "SIGINT", "SIGHUP"] : ["SIGTERM", "SIGINT"];
  let firstMs: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const nowMs = clock.monotonicMs();
    if (firstMs !== undefined && nowMs - firstMs > repeatedWithinMs) {
      stopping.forEach((name) => program.removeListener(name, onSignal));
      endBy(signal);
    }
    firstMs ??= nowMs;
    controller.abort();
  };
  stopping.forEach((name) => program.on(name, onSignal));
  if (!hasTerminal) {
    program.on("SIGHUP", () => controller.signal.dispatchEvent(new Event("hangup")));
  }
  program.on("SIGUSR1", () => undefined); // Otherwise Node opens its debugger, to every user of the machine.
  return controller.signal;
}
