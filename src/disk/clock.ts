/**
 * Time as a dependency, so that tests can use their own.
 *
 * Durations are measured by the monotonic clock, which setting the time does not change. The wall clock is only for
 * what people see and what a later process reads.
 */

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
