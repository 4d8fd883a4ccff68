/**
 * What the model in test/property does not show: the border of a day, and both quotas after a change of plan.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { MemoryLimiter } from "../../src/limits/memory-limiter.ts";
import { createPlan } from "../../src/limits/plans.ts";
import { ManualClock } from "../support/manual-clock.ts";

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;

const free = createPlan("free");

/** Has the key banned: its minute is used up, and ten refusals follow in ten seconds. @returns for how many seconds */
function ban(limiter: MemoryLimiter, clock: ManualClock): number {
  for (let count = 0; count < 61; count++) {
    limiter.take("key", free);
  }
  let last = limiter.take("key", free);
  for (let count = 1; count < 10; count++) {
    clock.advance(second);
    last = limiter.take("key", free);
  }
  assert.ok(last.kind === "key_banned");
  return last.retryAfterSeconds;
}

test("MemoryLimiter.take() treats a ban as a further one, twice as long, until 24 h after the end of the last", () => {
  for (const [differenceMs, seconds] of [[-1, 600], [0, 600], [1, 300]] as const) {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock });
    ban(limiter, clock);
    clock.advance(5 * minute + day - 9 * second + differenceMs); // The next one begins 9 s later.
    assert.equal(ban(limiter, clock), seconds, `${differenceMs} ms`);
  }
});

test("MemoryLimiter.quotas() returns the numbers of the given plan, never less than 0 left", () => {
  const limiter = new MemoryLimiter({ clock: new ManualClock() });
  for (let count = 0; count < 100; count++) {
    limiter.take("key", createPlan("pro"));
  }
  const { minute, day: dayStatus } = limiter.quotas("key", free);
  assert.deepEqual([minute.limit, minute.remaining, dayStatus.limit, dayStatus.remaining], [60, 0, 1_000, 900]);
});
