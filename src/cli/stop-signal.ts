/**
 * SIGTERM and SIGINT as an AbortSignal.
 */

import type { EventEmitter } from "node:events";

import { type Clock, systemClock } from "../disk/clock.ts";

/** npm, shells and `timeout` send a signal twice, or pass on one that the terminal sent to all. */
const repeatedWithinMs = 1_000;

/**
 * Returns a signal that is aborted by the first SIGTERM or SIGINT. A later one ends the program at once if it comes
 * more than a second after the first.
 */
export function stopSignal(program: EventEmitter, endAtOnce: () => void, clock: Clock = systemClock): AbortSignal {
  const controller = new AbortController();
  let firstMs: number | undefined;
  const onSignal = (): void => {
    const nowMs = clock.monotonicMs();
    if (firstMs !== undefined && nowMs - firstMs > repeatedWithinMs) {
      endAtOnce();
    }
    firstMs ??= nowMs;
    controller.abort();
  };
  program.on("SIGTERM", onSignal);
  program.on("SIGINT", onSignal);
  return controller.signal;
}
