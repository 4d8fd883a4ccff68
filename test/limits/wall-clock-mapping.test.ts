import assert from "node:assert/strict";
import { test } from "node:test";

import type { Clock } from "../../src/base/clock.ts";
import { WallClockMapping } from "../../src/limits/wall-clock-mapping.ts";
import { seeded } from "../support/seeded-random.ts";

/** Like real clocks: the wall clock leaves off fractions, and the process may pause between two readings. */
class RealisticClock implements Clock {
  /** How long the next readings pause before they are made. */
  readonly pausesMs: number[] = [];
  #elapsedMs = 0.3;

  advance(durationMs: number): void {
    this.#elapsedMs += durationMs;
  }

  wallMs(): number {
    return Math.floor(1_800_000_000_000.6 + this.#pause());
  }

  monotonicMs(): number {
    return 5_000.25 + this.#pause();
  }

  #pause(): number {
    this.#elapsedMs += this.pausesMs.shift() ?? 0;
    return this.#elapsedMs;
  }
}

test("WallClockMapping.toWallMs() stays the same without a clock step, whatever the fractions of the clocks", seeded((random) => {
  const clock = new RealisticClock();
  const clockMapping = new WallClockMapping(clock);
  const before = clockMapping.toWallMs(0);
  for (let round = 0; round < 100_000; round += 1) {
    clock.advance(random.integer(0, 5_000) / 1_024);
    clockMapping.nowMs();
    assert.equal(clockMapping.toWallMs(0), before);
  }
}));

test("WallClockMapping.toWallMs() ignores a pause between two readings", () => {
  for (const pausesMs of [[0, 50], [0, 50.2], [0, 50, 50], [0, 50, 0, 50], [0, 50, 0, 0, 50], [0, 50, 0, 50, 50]]) {
    const clock = new RealisticClock();
    const clockMapping = new WallClockMapping(clock);
    const before = clockMapping.toWallMs(0);
    clock.pausesMs.push(...pausesMs);
    clockMapping.nowMs();
    assert.equal(clockMapping.toWallMs(0), before, String(pausesMs));
  }
});
