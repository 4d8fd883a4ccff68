import assert from "node:assert/strict";
import { test } from "node:test";

import { afterResponse, bucketAt, countdown, type Quota, readLimits, readRate } from "../../src/console/quota.ts";

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

function quota(minuteLeft: number, dayLeft: number): Quota {
  return {
    minute: { limit: 60, remaining: minuteLeft, endsAtMs: nowMs + 42_000, isExact: true },
    day: { limit: 1_000, remaining: dayLeft, endsAtMs: nowMs + 80_000_000, isExact: true },
  };
}

test("readLimits() counts from Reset minus Date, so that a browser's clock may be ten minutes off", () => {
  const reset = (left: number): string => String(serverMs / 1_000 + left);
  const shown = {
    plan: "free",
    minute: { limit: "60", remaining: "59", reset: reset(42) },
    day: { limit: "1000", remaining: "999", reset: reset(80_000) },
  };
  assert.deepEqual(readLimits(shown, fields(), nowMs), quota(59, 999));
});

test("readRate() reads one bucket, and prefers Retry-After to Reset", () => {
  assert.deepEqual(readRate(fields(rateFields(60, 3, 42)), nowMs), { limit: 60, remaining: 3, leftMs: 42_000 });
  const refused = fields({ ...rateFields(60, 0, 42), "Retry-After": "41" });
  assert.deepEqual(readRate(refused, nowMs), { limit: 60, remaining: 0, leftMs: 41_000 });
  assert.equal(readRate(fields(), nowMs), undefined);
});

test("readRate() takes a Retry-After that is a date, and does without Date", () => {
  const date = new Date(serverMs + 41_000).toUTCString();
  assert.equal(readRate(fields({ ...rateFields(60, 0, 42), "Retry-After": date }), nowMs)?.leftMs, 41_000);
  assert.equal(readRate(fields({ ...rateFields(60, 0, 42), "Retry-After": "soon" }), nowMs)?.leftMs, 42_000);
  assert.equal(readRate(fields({ ...rateFields(60, 3, 42), Date: "" }), serverMs)?.leftMs, 42_000);
  assert.equal(readRate(fields({ "X-RateLimit-Limit": "60", "X-RateLimit-Reset": "soon" }), nowMs), undefined);
});

test("afterResponse() sets the bucket that the fields report and takes one off the other, as an upper bound", () => {
  const after = afterResponse(quota(50, 900), { limit: 60, remaining: 48, leftMs: 42_000 }, { nowMs, isServed: true });
  assert.deepEqual(after.minute, { limit: 60, remaining: 48, endsAtMs: nowMs + 42_000, isExact: true });
  assert.deepEqual(after.day, { limit: 1_000, remaining: 899, endsAtMs: nowMs + 80_000_000, isExact: false });
});

test("afterResponse() sets the day if the day is reported", () => {
  const after = afterResponse(quota(50, 3), { limit: 1_000, remaining: 2, leftMs: 80_000_000 }, { nowMs, isServed: true });
  assert.deepEqual([after.day.remaining, after.day.isExact], [2, true]);
  assert.deepEqual([after.minute.remaining, after.minute.isExact], [49, false]);
});

test("afterResponse() takes nothing for a request that was refused", () => {
  const after = afterResponse(quota(0, 900), { limit: 60, remaining: 0, leftMs: 42_000 }, { nowMs, isServed: false });
  assert.equal(after.day.remaining, 900);
});

test("afterResponse() distinguishes buckets of equal limits by their resets", () => {
  const both = { ...quota(50, 50), day: { limit: 60, remaining: 50, endsAtMs: nowMs + 80_000_000, isExact: true } };
  const after = afterResponse(both, { limit: 60, remaining: 49, leftMs: 79_999_000 }, { nowMs, isServed: true });
  assert.deepEqual([after.day.remaining, after.day.isExact, after.minute.isExact], [49, true, false]);
});

test("afterResponse() never shows less than the bucket that has fewer", () => {
  const after = afterResponse(quota(50, 45), { limit: 60, remaining: 48, leftMs: 42_000 }, { nowMs, isServed: true });
  assert.equal(after.day.remaining, 48);
});

test("afterResponse() does not set a countdown back because of rounding", () => {
  const after = afterResponse(quota(50, 900), { limit: 60, remaining: 49, leftMs: 43_000 }, { nowMs, isServed: true });
  assert.equal(after.minute.endsAtMs, nowMs + 42_000);
});

test("afterResponse() opens the window of the bucket that is not reported", () => {
  const laterMs = nowMs + 50_000;
  const rate = { limit: 1_000, remaining: 5, leftMs: 79_950_000 };
  const after = afterResponse(quota(50, 6), rate, { nowMs: laterMs, isServed: true });
  assert.deepEqual(after.minute, { limit: 60, remaining: 59, endsAtMs: laterMs + 60_000, isExact: false });
});

test("bucketAt() is full from the end of the window on, as an upper bound: another program may have begun the next", () => {
  const { minute } = quota(3, 900);
  assert.equal(bucketAt(minute, nowMs + 41_999), minute);
  const full = { limit: 60, remaining: 60, endsAtMs: undefined, isExact: false };
  assert.deepEqual(bucketAt(minute, nowMs + 42_000), full);
  assert.equal(bucketAt(full, nowMs + 99_000), full);
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
