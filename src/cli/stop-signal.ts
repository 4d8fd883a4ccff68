/** SIGTERM and SIGINT as an AbortSignal. */

import type { EventEmitter } from "node:events";

import { type Clock, systemClock } from "../base/clock.ts";

/** npm, shells and `timeout` send a signal twice, or pass on one that the terminal sent to all. */
const repeatedWithinMs = 1_000;

/**
 * Returns a signal that is aborted by the first SIGTERM or SIGINT. A later one ends the program at once if it comes
 * more than a second after the first. It ends by the signal's own default action, because `process.exit` waits for file
 * calls in progress, and those may hang.
 */
export function stopSignal(
  program: EventEmitter,
  endBy: (signal: NodeJS.Signals) => void,
  clock: Clock = systemClock,
): AbortSignal {
  const controller = new AbortController();
  let firstMs: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const nowMs = clock.monotonicMs();
    if (firstMs !== undefined && nowMs - firstMs > repeatedWithinMs) {
      program.removeListener("SIGTERM", onSignal).removeListener("SIGINT", onSignal);
      endBy(signal);
    }
    firstMs ??= nowMs;
    controller.abort();
  };
  program.on("SIGTERM", onSignal);
  program.on("SIGINT", onSignal);
  program.on("SIGUSR1", () => undefined); // Otherwise Node opens its debugger, to every user of the machine.
  return controller.signal;
}
