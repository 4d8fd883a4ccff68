/**
 * Maps the instants of the limits, whole milliseconds of the monotonic clock, to wall time for display and storage.
 *
 * It remembers the difference between the two clocks, so an instant has the same wall time until the system clock is
 * stepped. A step changes the wall times shown, not the instants. Time servers slew both clocks alike.
 */

import type { Clock } from "../base/clock.ts";

/** Without a step, two measurements differ by less than 1 ms: the wall clock has whole ones. The rest: rounding. */
const jitterMs = 1.1;

export class WallClockMapping {
  readonly #clock: Clock;
  /** Wall clock minus monotonic clock, as measured. */
  #differenceMs = 0;
  /** `#differenceMs` rounded to whole milliseconds, to be added to an instant. */
  #wallOffsetMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#adopt(clock.monotonicMs(), clock.wallMs());
  }

  /** Whole monotonic milliseconds. Each call checks for a step. */
  nowMs(): number {
    const monotonicMs = this.#clock.monotonicMs();
    const wallMs = this.#clock.wallMs();
    if (Math.abs(wallMs - monotonicMs - this.#differenceMs) > jitterMs) {
      // The process may have paused between the two readings. Then the next call tells.
      const hasPaused = this.#clock.monotonicMs() - monotonicMs >= 1;
      void (hasPaused || this.#adopt(monotonicMs, wallMs));
    }
    return Math.floor(monotonicMs);
  }

  toWallMs(instantMs: number): number {
    return instantMs + this.#wallOffsetMs;
  }

  /** Seconds since the Unix epoch, rounded up, so that the instant has come when that second begins. */
  unixSeconds(instantMs: number): number {
    return Math.ceil(this.toWallMs(instantMs) / 1_000);
  }

  #adopt(monotonicMs: number, wallMs: number): void {
    this.#differenceMs = wallMs - monotonicMs;
    this.#wallOffsetMs = Math.floor(wallMs) - Math.floor(monotonicMs);
  }
}
