/**
 * Durations are measured by the monotonic clock. The wall clock is only for what people see and a later process reads.
 */

import { performance } from "node:perf_hooks"; // The global is a getter, which takes longer, and may be replaced.

import type { Report } from "./report.ts";

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

/** Passes values on to `take`, at most one in `periodMs`, and drops the others. @param firstMs when it may begin */
export function throttle<Value>(
  clock: Clock,
  periodMs: number,
  take: (value: Value) => void,
  firstMs: number = -Infinity,
): (value: Value) => void {
  let nextMs = firstMs;
  return (value) => {
    const nowMs = clock.monotonicMs();
    if (nowMs >= nextMs) {
      nextMs = nowMs + periodMs;
      take(value);
    }
  };
}

const progressMs = 2_000;

/** Reports how much of `total` is done, in percent, at most once in every two seconds. */
export function reportProgress(clock: Clock, report: Report, what: string, total: number): (done: number) => void {
  const take = (done: number): void => report(`${what}: ${Math.floor((done / total) * 100)} %`);
  return throttle(clock, progressMs, take, clock.monotonicMs() + progressMs);
}
