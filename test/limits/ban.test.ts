import assert from "node:assert/strict";
import { test } from "node:test";

import type { Ban } from "../../src/limits/ban.ts";
import { countRefusal, endStreak, isBanned, liftBan, noBan } from "../../src/limits/ban.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Refuses once in each of ten seconds; the last refusal, which bans, comes nine seconds after `fromMs`. */
function setOff(ban: Ban, fromMs: number): void {
  for (let index = 0; index < 10; index++) {
    assert.equal(countRefusal(ban, fromMs + index * second), index === 9, `refusal ${index}`);
  }
}

/** The refusals of a streak of which exactly the last is expected to ban, or none. */
const streaks: Readonly<Record<string, { readonly refusedMs: readonly number[]; readonly bans: boolean }>> = {
  "refusals in nine different seconds": { refusedMs: [0, 1, 2, 3, 4, 5, 6, 7, 8].map((at) => at * second), bans: false },
  "refusals in ten different seconds": { refusedMs: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((at) => at * second), bans: true },
  "refusals in ten seconds, the last 1 ms too early": {
    refusedMs: [0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 8_999],
    bans: false,
  },
  "a thousand refusals within the first second": {
    refusedMs: Array.from({ length: 1_000 }, (_, atMs) => atMs),
    bans: false,
  },
  "refusals every 999 ms": {
    refusedMs: Array.from({ length: 11 }, (_, index) => index * 999),
    bans: true,
  },
  "ten refusals hours apart": { refusedMs: Array.from({ length: 10 }, (_, index) => index * 2 * hour), bans: true },
};

for (const [name, { refusedMs, bans }] of Object.entries(streaks)) {
  test(`countRefusal() ${bans ? "bans" : "does not ban"} a key for ${name}`, () => {
    const ban = noBan();
    const outcomes = refusedMs.map((atMs) => countRefusal(ban, 777 + atMs));
    assert.deepEqual(
      outcomes,
      refusedMs.map((_, index) => bans && index === refusedMs.length - 1),
    );
  });
}

test("isBanned() is true for five minutes, to the millisecond", () => {
  const ban = noBan();
  setOff(ban, 0);
  const endMs = 9 * second + 5 * minute;
  assert.deepEqual([-1, 0, 1].map((differenceMs) => isBanned(ban, endMs + differenceMs)), [true, false, false]);
});

test("countRefusal() starts from 0 after a ban", () => {
  const ban = noBan();
  setOff(ban, 0);
  setOff(ban, ban.untilMs);
});

test("endStreak() sets the count back to 0", () => {
  const ban = noBan();
  for (let index = 0; index < 9; index++) {
    countRefusal(ban, index * second);
  }
  endStreak(ban);
  setOff(ban, 9 * second);
});

test("countRefusal() doubles each further ban up to an hour: 5, 10, 20, 40, 60, 60 minutes", () => {
  const ban = noBan();
  const lengths: number[] = [];
  for (let fromMs = 0; lengths.length < 6; fromMs = ban.untilMs) {
    setOff(ban, fromMs);
    lengths.push((ban.untilMs - fromMs - 9 * second) / minute);
  }
  assert.deepEqual(lengths, [5, 10, 20, 40, 60, 60]);
});

test("countRefusal() treats a ban as a further one until 24 h after the end of the last", () => {
  for (const [differenceMs, minutes] of [[-1, 10], [0, 10], [1, 5]] as const) {
    const ban = noBan();
    setOff(ban, 0);
    const setsOffMs = ban.untilMs + 24 * hour + differenceMs;
    setOff(ban, setsOffMs - 9 * second);
    assert.equal(ban.untilMs - setsOffMs, minutes * minute, `${differenceMs} ms`);
  }
});

test("liftBan() ends the ban at once, and the next one is a further one", () => {
  const ban = noBan();
  setOff(ban, 0);
  liftBan(ban, minute);
  assert.equal(isBanned(ban, minute), false);
  setOff(ban, minute);
  assert.equal(ban.durationMs, 10 * minute);
});

test("liftBan() does not move the end of a ban that is over", () => {
  const ban = noBan();
  setOff(ban, 0);
  const { untilMs } = ban;
  liftBan(ban, untilMs + hour);
  assert.equal(ban.untilMs, untilMs);
});
