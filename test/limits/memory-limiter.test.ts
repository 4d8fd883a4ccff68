/**
 * What the model in test/property does not show: the border of a day, and both quotas after a change of plan.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Refusal, Served } from "../../src/limits/limiter.ts";
import { MemoryLimiter } from "../../src/limits/memory-limiter.ts";
import { createPlan } from "../../src/limits/plans.ts";
import type { Plan } from "../../src/limits/plans.ts";
import { ManualClock } from "../support/manual-clock.ts";

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;

const free = createPlan("free");
const pro = createPlan("pro");

/** 2026-11-21 12:00:00.250 UTC. */
const startMs = Date.UTC(2026, 10, 21, 12, 0, 0, 250);

interface Bench {
  readonly clock: ManualClock;
  readonly limiter: MemoryLimiter;
  take(count?: number, plan?: Plan): Served | Refusal;
  /** The same for a request that is refused. */
  refused(plan?: Plan): Refusal;
}

/** A limiter and one key. `take` asks for several requests and returns the last decision. */
function bench(): Bench {
  const clock = new ManualClock({ wallMs: startMs });
  const limiter = new MemoryLimiter({ clock });
  const take = (count = 1, plan = free): Served | Refusal => {
    const decisions = Array.from({ length: count }, () => limiter.take("key", plan));
    const last = decisions.at(-1);
    assert.ok(last !== undefined);
    return last;
  };
  const refused = (plan = free): Refusal => {
    const decision = take(1, plan);
    assert.ok(decision.kind !== "allowed");
    return decision;
  };
  return { clock, limiter, take, refused };
}

/** Has the key banned: its minute is used up, and ten refusals follow in ten seconds. */
function ban({ clock, take, refused }: Bench): Refusal {
  take(60);
  let last = refused();
  for (let index = 1; index < 10; index++) {
    clock.advance(second);
    last = refused();
  }
  assert.equal(last.kind, "key_banned");
  return last;
}

test("MemoryLimiter.take() treats a ban as a further one, twice as long, until 24 h after the end of the last", () => {
  for (const [differenceMs, seconds] of [[-1, 600], [0, 600], [1, 300]] as const) {
    const parts = bench();
    ban(parts);
    parts.clock.advance(5 * minute + day - 9 * second + differenceMs); // The next one begins 9 s later.
    assert.equal(ban(parts).retryAfterSeconds, seconds, `${differenceMs} ms`);
  }
});

test("MemoryLimiter.quotas() returns the numbers of the given plan, never less than 0 left", () => {
  const { limiter, take } = bench();
  take(100, pro);
  const { minute, day: dayStatus } = limiter.quotas("key", free);
  assert.deepEqual([minute.limit, minute.remaining, dayStatus.limit, dayStatus.remaining], [60, 0, 1_000, 900]);
});
