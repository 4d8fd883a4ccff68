import assert from "node:assert/strict";
import { test } from "node:test";

import type { Allowed, Refusal, Served } from "../../src/limits/limiter.ts";
import { MemoryLimiter } from "../../src/limits/memory-limiter.ts";
import { createPlan } from "../../src/limits/plans.ts";
import type { Plan } from "../../src/limits/plans.ts";
import { ManualClock } from "../support/manual-clock.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

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

test("MemoryLimiter.take() counts Remaining down from 59 to 0, in the first window and in a later one", () => {
  const { clock, limiter } = bench();
  const countdown = Array.from({ length: 60 }, (_, index) => 59 - index);
  for (const window of [1, 2, 3]) {
    const remaining = countdown.map(() => limiter.take("key", free).remaining);
    assert.deepEqual(remaining, countdown, `window ${window}`);
    clock.advance(minute);
  }
});

test("MemoryLimiter.take() admits exactly 60 of 200 parallel requests on Free", async () => {
  const { limiter } = bench();
  const kinds = await Promise.all(Array.from({ length: 200 }, async () => limiter.take("key", free).kind));
  assert.equal(kinds.filter((kind) => kind === "allowed").length, 60);
});

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

test("MemoryLimiter.take() never asks for less than a second, nor for more than the window", () => {
  for (const [waitedMs, seconds] of [[0, 60], [1, 60], [58_999, 2], [59_000, 1], [59_999, 1]] as const) {
    const { clock, take, refused } = bench();
    take(60);
    clock.advance(waitedMs);
    assert.equal(refused().retryAfterSeconds, seconds, `after ${waitedMs} ms`);
  }
});

test("MemoryLimiter.take() takes no token from either bucket if it refuses", () => {
  const { clock, take } = bench();
  take(60);
  take(900);
  clock.advance(minute);
  // 60 of the day's 1,000 are used, and 1 now: had refusals cost the day, it would be the one that is shown.
  assert.deepEqual([take().limit, take().remaining], [60, 58]);
});

test("MemoryLimiter.take() takes no token of the minute for a request that the day refuses", () => {
  const plan = createPlan("enterprise", { perMinute: 3, perDay: 2 });
  const { clock, take } = bench();
  take(2, plan);
  clock.advance(minute);
  take(5, plan);
  assert.equal(take(1, createPlan("enterprise", { perMinute: 3, perDay: 100 })).remaining, 2);
});

test("MemoryLimiter.take() reports the bucket with fewer tokens left, the day towards its end", () => {
  const { clock, take } = bench();
  for (let window = 0; window < 16; window++) {
    take(60);
    clock.advance(minute);
  }
  const { limit, remaining, resetSeconds } = take(); // the 961st: 59 left of the minute, 39 of the day
  assert.deepEqual([limit, remaining, resetSeconds], [1_000, 39, startSeconds + day / second + 1]);
});

test("MemoryLimiter.take() reports on a tie the bucket that resets later", () => {
  const plan = createPlan("enterprise", { perMinute: 5, perDay: 5 });
  const { clock, take } = bench();
  assert.equal(take(1, plan).resetSeconds, startSeconds + day / second + 1);
  clock.advance(day - second); // the day ends in a second, a minute opened now ends later
  const late = take(1, createPlan("enterprise", { perMinute: 4, perDay: 5 }));
  assert.deepEqual([late.limit, late.remaining, late.resetSeconds], [4, 3, startSeconds + day / second - 1 + 60 + 1]);
});

test("MemoryLimiter.take() reports on 429 the later reset of two empty buckets", () => {
  const plan = createPlan("enterprise", { perMinute: 2, perDay: 2 });
  const { clock, take, refused } = bench();
  take(2, plan);
  assert.equal(refused(plan).retryAfterSeconds, day / second);
  clock.advance(day);
  assert.equal(take(1, plan).kind, "allowed");
});

test("MemoryLimiter.take() shows the same Reset on every response of a window", () => {
  const { clock, take } = bench();
  const resets = Array.from({ length: 100 }, () => {
    const { resetSeconds } = take(1, pro);
    clock.advance(599);
    return resetSeconds;
  });
  assert.deepEqual([...new Set(resets)], [startSeconds + 61]);
});

test("MemoryLimiter.take() bans the key with the refusal in the tenth second, which is key_banned itself", () => {
  const parts = bench();
  const banned = ban(parts);
  assert.deepEqual([banned.limit, banned.remaining, banned.retryAfterSeconds], [60, 0, 300]);
  assert.equal(banned.resetSeconds, startSeconds + 9 + 300 + 1);
  assert.equal(parts.limiter.banCount, 1);
  assert.equal(parts.limiter.bannedKeyCount, 1);
});

test("MemoryLimiter.take() neither prolongs a ban nor counts towards the next one during a ban", () => {
  const parts = bench();
  const { resetSeconds } = ban(parts);
  for (let index = 0; index < 299; index++) {
    parts.clock.advance(second);
    const decision = parts.take(3);
    assert.deepEqual([decision.kind, decision.resetSeconds], ["key_banned", resetSeconds]);
  }
  parts.clock.advance(second);
  assert.equal(parts.take().kind, "allowed");
  assert.equal(parts.limiter.bannedKeyCount, 0);
  assert.equal(parts.take(60).kind, "rate_limited");
});

test("MemoryLimiter.take() does not ban a key for a burst of any size within a second", () => {
  const { clock, take } = bench();
  for (let index = 0; index < 100; index++) {
    assert.notEqual(take(100).kind, "key_banned");
    clock.advance(9);
  }
});

test("MemoryLimiter.take() reports the end of the day if it is later than the end of the ban", () => {
  const plan = createPlan("enterprise", { perMinute: 10, perDay: 1 });
  const { clock, take, refused } = bench();
  take(1, plan);
  const refusals = Array.from({ length: 10 }, () => {
    clock.advance(second);
    return refused(plan);
  });
  assert.deepEqual([refusals[9]?.kind, refusals[9]?.retryAfterSeconds], ["key_banned", day / second - 10]);
});

test("MemoryLimiter.take() serves a key at once after an upgrade, and keeps what is used", () => {
  const { take } = bench();
  assert.equal(take(61).kind, "rate_limited");
  const upgraded = take(1, pro);
  assert.deepEqual([upgraded.kind, upgraded.limit, upgraded.remaining], ["allowed", 300, 239]);
});

test("MemoryLimiter.take() keeps a ban after an upgrade", () => {
  const parts = bench();
  ban(parts);
  assert.equal(parts.take(1, pro).kind, "key_banned");
});

test("MemoryLimiter.take() reports 0 left after a downgrade, not less", () => {
  const { take } = bench();
  take(100, pro);
  assert.deepEqual([take().kind, take().remaining], ["rate_limited", 0]);
});

test("MemoryLimiter.unban() lifts the ban of that key and nothing else", () => {
  const parts = bench();
  ban(parts);
  parts.limiter.unban("another");
  assert.equal(parts.take().kind, "key_banned");
  parts.limiter.unban("key");
  assert.equal(parts.take().kind, "rate_limited");
  parts.clock.advance(minute);
  assert.equal(parts.take().kind, "allowed");
});

test("MemoryLimiter.take() serves a key while another is banned", () => {
  const parts = bench();
  ban(parts);
  assert.equal(parts.limiter.take("another", free).remaining, 59);
});

for (const stepMs of [hour, -hour, year, -year]) {
  test(`MemoryLimiter.take() decides the same after a clock step of ${stepMs / hour} h, and Reset moves with it`, () => {
    const { clock, take, refused } = bench();
    take(60);
    clock.stepWall(stepMs);
    const { kind, retryAfterSeconds, resetSeconds } = refused();
    assert.deepEqual([kind, retryAfterSeconds], ["rate_limited", 60]);
    assert.equal(resetSeconds, startSeconds + 61 + stepMs / second);
    clock.advance(minute - 1);
    assert.equal(take().kind, "rate_limited");
    clock.advance(1);
    assert.equal(take().kind, "allowed");
  });
}

test("MemoryLimiter.take() serves a request at Reset, also after a clock step of less than a second", () => {
  const { clock, take } = bench();
  const { resetSeconds } = take(60);
  clock.stepWall(900);
  assert.equal(take().resetSeconds, resetSeconds + 1);
  clock.advance((resetSeconds + 1) * second - clock.wallMs());
  assert.equal(take().kind, "allowed");
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

test("MemoryLimiter.peek() returns the status of the 429 for a banned key", () => {
  const parts = bench();
  const { limit, remaining, resetSeconds } = ban(parts);
  assert.deepEqual(parts.limiter.peek("key", free), { limit, remaining, resetSeconds });
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
