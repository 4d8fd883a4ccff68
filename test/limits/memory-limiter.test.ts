/**
 * What the model in test/property does not show: whole numbers as on the wire, the border of a day, and the memory used.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Allowed, Refusal, Served } from "../../src/limits/limiter.ts";
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
const startSeconds = Math.floor(startMs / second);

interface Bench {
  readonly clock: ManualClock;
  readonly limiter: MemoryLimiter;
  take(count?: number, plan?: Plan): Allowed | Refusal;
  /** The same for a request that is refused. */
  refused(plan?: Plan): Refusal;
}

/** The numbers alone, to be compared. */
function withoutQuotas(decision: Served | Refusal): Allowed | Refusal {
  if (decision.kind !== "allowed") {
    return decision;
  }
  const { quotas: _quotas, ...allowed } = decision;
  return allowed;
}

/** A limiter and one key. `take` asks for several requests and returns the last decision. */
function bench(): Bench {
  const clock = new ManualClock({ wallMs: startMs });
  const limiter = new MemoryLimiter({ clock });
  const take = (count = 1, plan = free): Allowed | Refusal => {
    const decisions = Array.from({ length: count }, () => limiter.take("key", plan));
    const last = decisions.at(-1);
    assert.ok(last !== undefined);
    return withoutQuotas(last);
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

test("MemoryLimiter.take() says on 429 when the minute is full again, and serves a client that waits that long", () => {
  const { clock, take } = bench();
  take(60);
  clock.advance(1_500);
  const refused = take();
  const resetSeconds = startSeconds + 61; // 12:01:00.250, rounded up
  assert.deepEqual(refused, { kind: "rate_limited", limit: 60, remaining: 0, resetSeconds, retryAfterSeconds: 59 });
  clock.advance(58 * second);
  assert.equal(take().kind, "rate_limited");
  clock.advance(second);
  assert.equal(take().kind, "allowed");
});

test("MemoryLimiter.take() bans the key with the refusal in the tenth second, which is key_banned itself", () => {
  const parts = bench();
  const banned = ban(parts);
  assert.deepEqual([banned.limit, banned.remaining, banned.retryAfterSeconds], [60, 0, 300]);
  assert.equal(banned.resetSeconds, startSeconds + 9 + 300 + 1);
  assert.equal(parts.limiter.banCount, 1);
  assert.equal(parts.limiter.bannedKeyCount, 1);
  parts.clock.advance(5 * minute);
  assert.equal(parts.limiter.bannedKeyCount, 0);
});

test("MemoryLimiter.take() serves a request at Reset, also after a clock step of less than a second", () => {
  const { clock, take } = bench();
  const { resetSeconds } = take(60);
  clock.stepWall(900);
  assert.equal(take().resetSeconds, resetSeconds + 1);
  clock.advance((resetSeconds + 1) * second - clock.wallMs());
  assert.equal(take().kind, "allowed");
});

test("MemoryLimiter.take() treats a ban as a further one, twice as long, until 24 h after the end of the last", () => {
  for (const [differenceMs, seconds] of [[-1, 600], [0, 600], [1, 300]] as const) {
    const parts = bench();
    ban(parts);
    parts.clock.advance(5 * minute + day - 9 * second + differenceMs); // The next one begins 9 s later.
    assert.equal(ban(parts).retryAfterSeconds, seconds, `${differenceMs} ms`);
  }
});

test("MemoryLimiter.peek() takes no token, opens no bucket and counts no refusal", () => {
  const { clock, limiter, take } = bench();
  const peeked = limiter.peek("key", free);
  assert.deepEqual(peeked, { limit: 60, remaining: 60, resetSeconds: startSeconds + 61 });
  assert.equal(limiter.keys.size, 0);
  assert.equal(take(61).kind, "rate_limited");
  for (let index = 0; index < 20; index++) {
    clock.advance(second);
    assert.equal(limiter.peek("key", free).remaining, 0);
  }
  assert.equal(take().kind, "rate_limited");
});

test("MemoryLimiter.quotas() returns what is left of both buckets, and when each is full again", () => {
  const { clock, limiter, take } = bench();
  const minuteReset = startSeconds + 61;
  const dayReset = startSeconds + day / second + 1;
  const quotas = (minuteLeft: number, dayLeft: number): object => ({
    minute: { limit: 60, remaining: minuteLeft, resetSeconds: minuteReset },
    day: { limit: 1_000, remaining: dayLeft, resetSeconds: dayReset },
  });
  assert.deepEqual(limiter.quotas("key", free), quotas(60, 1_000));
  assert.equal(limiter.keys.size, 0);
  take();
  clock.advance(10 * second);
  assert.deepEqual(limiter.quotas("key", free), quotas(59, 999));
  take(70);
  assert.deepEqual(limiter.quotas("key", free), quotas(0, 940));
  clock.advance(80 * second);
  const { minute, day: dayStatus } = limiter.quotas("key", free);
  assert.deepEqual(minute, { limit: 60, remaining: 60, resetSeconds: startSeconds + 90 + 61 });
  assert.deepEqual(dayStatus, { limit: 1_000, remaining: 940, resetSeconds: dayReset });
});

test("MemoryLimiter.quotas() returns the numbers of the given plan, never less than 0 left", () => {
  const { limiter, take } = bench();
  take(100, pro);
  const { minute, day: dayStatus } = limiter.quotas("key", free);
  assert.deepEqual([minute.limit, minute.remaining, dayStatus.limit, dayStatus.remaining], [60, 0, 1_000, 900]);
});
