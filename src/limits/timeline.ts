/**
 * Instants of the limits: counted on the monotonic clock, shown and stored as wall time.
 *
 * The distance between the two clocks is kept here and stays as it is until they have parted by more than a second. So
 * an instant has one name for as long as nobody sets the system's clock, and is renamed with the next reading after
 * somebody did, while the instant itself stays where it was.
 */

import type { Clock } from "../disk/clock.ts";

/** Less is how the two clocks are read one after the other, and how a time server nudges. */
const stepMinMs = 1_000;

export class Timeline {
  readonly #clock: Clock;
  #wallOffsetMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#wallOffsetMs = Math.floor(clock.wallMs()) - Math.floor(clock.monotonicMs());
  }

  /** Whole monotonic milliseconds: sums and differences of them are exact. Reading it is what notices a step. */
  nowMs(): number {
    const nowMs = Math.floor(this.#clock.monotonicMs());
    const wallOffsetMs = Math.floor(this.#clock.wallMs()) - nowMs;
    if (Math.abs(wallOffsetMs - this.#wallOffsetMs) > stepMinMs) {
      this.#wallOffsetMs = wallOffsetMs;
    }
    return nowMs;
  }

  /** Milliseconds since the Unix epoch. */
  toWallMs(instantMs: number): number {
    return instantMs + this.#wallOffsetMs;
  }

  fromWallMs(wallMs: number): number {
    return wallMs - this.#wallOffsetMs;
  }

  /** Seconds since the Unix epoch, rounded up: at the second shown, the instant has come. */
  unixSeconds(instantMs: number): number {
    return Math.ceil(this.toWallMs(instantMs) / 1_000);
  }
}
