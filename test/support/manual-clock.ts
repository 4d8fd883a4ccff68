/**
 * A clock that moves only when a test moves it.
 */

import type { Clock } from "../../src/base/clock.ts";

export class ManualClock implements Clock {
  #wallMs: number;
  #monotonicMs: number;

  constructor(options: { wallMs?: number; monotonicMs?: number } = {}) {
    this.#wallMs = options.wallMs ?? Date.UTC(2026, 10, 21, 12, 0, 0);
    this.#monotonicMs = options.monotonicMs ?? 1_000;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** Time passes: both clocks move. */
  advance(durationMs: number): void {
    this.#wallMs += durationMs;
    this.#monotonicMs += durationMs;
  }

  /** Sets the system clock: only the wall clock moves. */
  stepWall(differenceMs: number): void {
    this.#wallMs += differenceMs;
  }
}
