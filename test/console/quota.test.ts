import assert from "node:assert/strict";
import { test } from "node:test";

import { afterResponse, bucketAt, countdown, type Quota, type Rate, readLimits, readRate, shortage } from "../../src/console/quota.ts";

/** The browser's clock is ten minutes ahead of the server's. */
const serverMs = Date.UTC(2026, 10, 21, 12, 0, 0);
const nowMs = serverMs + 600_000;

function fields(more: Readonly<Record<string, string>> = {}): (name: string) => string | null {
  const all: Readonly<Record<string, string>> = { Date: new Date(serverMs).toUTCString(), ...more };
  return (name) => all[name] ?? null;
}

function rateFields(limit: number, remaining: number, leftSeconds: number): Record<string, string> {
  return {
    "X-RateLimit-Limit": String(limit),
    "X-RateLimit-Remaining": String(remaining),
    "X-RateLimit-Reset": String(serverMs / 1_000 + leftSeconds),
  };
}

const reset = (leftSeconds: number): number => serverMs / 1_000 + leftSeconds;

function quota(minuteLeft: number, dayLeft: number): Quota {
  return {
    minute: { limit: 60, remaining: minuteLeft, reset: reset(42), endsAtMs: nowMs + 42_000, isExact: true },
    day: { limit: 1_000, remaining: dayLeft, reset: reset(80_000), endsAtMs: nowMs + 80_000_000, isExact: true },
  };
}

function rate(limit: number, remaining: number, leftSeconds: number): Rate {
  return { limit, remaining, reset: reset(leftSeconds), leftMs: leftSeconds * 1_000 };
}

test("readLimits() counts from Reset minus Date, so that a browser's clock may be ten minutes off", () => {
  const shown = {
    plan: "free",
    minute: { limit: "60", remaining: "59", reset: String(reset(42)) },
    day: { limit: "1000", remaining: "999", reset: String(reset(80_000)) },
  };
  assert.deepEqual(readLimits(shown, fields(), nowMs), quota(59, 999));
});

test("readRate() reads one bucket, and prefers Retry-After to Reset", () => {
  assert.deepEqual(readRate(fields(rateFields(60, 3, 42)), nowMs), rate(60, 3, 42));
  const refused = fields({ ...rateFields(60, 0, 42), "Retry-After": "41" });
  assert.deepEqual(readRate(refused, nowMs), { ...rate(60, 0, 42), leftMs: 41_000 });
  assert.equal(readRate(fields(), nowMs), undefined);
});

test("readRate() takes Reset if Retry-After is no number, and does without Date", () => {
  const date = new Date(serverMs + 41_000).toUTCString();
  assert.equal(readRate(fields({ ...rateFields(60, 0, 42), "Retry-After": date }), nowMs)?.leftMs, 42_000);
  assert.equal(readRate(fields({ ...rateFields(60, 3, 42), Date: "" }), serverMs)?.leftMs, 42_000);
  assert.equal(readRate(fields({ "X-RateLimit-Limit": "60", "X-RateLimit-Reset": "soon" }), nowMs), undefined);
});

test("afterResponse() sets the bucket that the fields report; what was said of the other becomes an upper bound", () => {
  const ofMinute = afterResponse(quota(50, 900), rate(60, 48, 42), nowMs);
  assert.deepEqual([ofMinute.minute, ofMinute.day], [quota(48, 900).minute, { ...quota(48, 900).day, isExact: false }]);
  const ofDay = afterResponse(quota(50, 3), rate(1_000, 2, 80_000), nowMs);
  assert.deepEqual([ofDay.minute, ofDay.day], [{ ...quota(50, 2).minute, isExact: false }, quota(50, 2).day]);
});

test("afterResponse() distinguishes buckets of equal limits by their resets", () => {
  const both = { ...quota(50, 50), day: { ...quota(50, 50).day, limit: 60 } };
  const ofDay = afterResponse(both, rate(60, 49, 80_000), nowMs);
  assert.deepEqual([ofDay.day.remaining, ofDay.day.isExact, ofDay.minute.isExact], [49, true, false]);
  const ofMinute = afterResponse(both, rate(60, 49, 42), nowMs);
  assert.deepEqual([ofMinute.minute.remaining, ofMinute.minute.isExact, ofMinute.day.isExact], [49, true, false]);
});

test("afterResponse() sets no bucket if the limit is of neither: the plan has changed", () => {
  const after = afterResponse(quota(50, 900), rate(300, 299, 42), nowMs);
  assert.deepEqual([after.minute.remaining, after.minute.isExact, after.day.remaining, after.day.isExact], [50, false, 900, false]);
});

test("afterResponse() does not set a countdown back because of rounding", () => {
  const after = afterResponse(quota(50, 900), { ...rate(60, 49, 42), leftMs: 43_000 }, nowMs);
  assert.equal(after.minute.endsAtMs, nowMs + 42_000);
  const ofNextWindow = afterResponse(quota(50, 900), rate(60, 59, 60), nowMs);
  assert.equal(ofNextWindow.minute.endsAtMs, nowMs + 60_000);
});

test("bucketAt() is full from the end of the window on, as an upper bound: another program may have begun the next", () => {
  const { minute } = quota(3, 900);
  assert.equal(bucketAt(minute, nowMs + 41_999), minute);
  assert.deepEqual(bucketAt(minute, nowMs + 42_000), { ...minute, remaining: 60, isExact: false });
});

test("shortage() says in words what is below a fifth, below a twentieth, and nothing", () => {
  const words = [0, 1, 2, 3, 11, 12, 60].map((remaining) => shortage({ ...quota(0, 0).minute, remaining }));
  assert.deepEqual(words, ["used up", "almost used up", "almost used up", "running low", "running low", "", ""]);
});

test("countdown() rounds up, so that it never ends too early", () => {
  const table = [
    [0, "0:00"],
    [-5, "0:00"],
    [1, "0:01"],
    [42_000, "0:42"],
    [59_001, "1:00"],
    [300_000, "5:00"],
    [845_000, "14:05"],
    [3_600_000, "1:00:00"],
    [86_350_000, "23:59:10"],
  ] as const;
  for (const [leftMs, text] of table) {
    assert.equal(countdown(leftMs), text);
  }
});
