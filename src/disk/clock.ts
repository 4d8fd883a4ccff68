/**
 * Time, handed to whoever needs it, so that tests bring their own.
 *
 * Durations are measured on the monotonic clock, which no administrator and no time server moves. The wall clock is
 * only for what is shown to people or has to be understood by a later process.
 */

import { performance } from "node:perf_hooks";

export interface Clock {
  /** Milliseconds since the Unix epoch. Steps when the system's clock is set. */
  wallMs(): number;
  /** Milliseconds since some fixed instant. Never goes back, never jumps. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
