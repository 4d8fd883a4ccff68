/**
 * Durations are measured by the monotonic clock. The wall clock is only for what people see and a later process reads.
 */

import { performance } from "node:perf_hooks"; // The global is a getter, which takes longer, and may be replaced.

export interface Clock {
  /** Milliseconds since the Unix epoch. Steps when the system's clock is set. */
  wallMs(): number;
  /** Milliseconds since a fixed instant. Never goes back, never jumps. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

const progressMs = 2_000;

/** Passes progress on to `report`, at most once in every two seconds. */
export function reportProgress(clock: Clock, report: (done: number) => void): (done: number) => void {
  let nextMs = clock.monotonicMs() + progressMs;
  return (done) => {
    const nowMs = clock.monotonicMs();
    if (nowMs >= nextMs) {
      nextMs = nowMs + progressMs;
      report(done);
    }
  };
}
