import assert from "node:assert/strict";
import { test } from "node:test";

import { afterResponse, countdown, hasSpare, isLimits, type Quota, type Rate, readLimits, readRate } from "../../src/console/quota.ts";

/** The browser's clock is ten minutes ahead of the server's. */
const serverMs = Date.UTC(2026, 10, 21, 12, 0, 0);
const nowMs = serverMs + 600_000;

function fields(more: Readonly<Record<string, string>> = {}): Headers {
  return new Headers({ Date: new Date(serverMs).toUTCString(), ...more });
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
    minute: { limit: 60, remaining: minuteLeft, reset: reset(42), endsAtMs: nowMs + 42_000 },
    day: { limit: 1_000, remaining: dayLeft, reset: reset(80_000), endsAtMs: nowMs + 80_000_000 },
  };
}

function rate(limit: number, remaining: number, leftSeconds: number): Rate {
  return { limit, remaining, reset: reset(leftSeconds), leftMs: leftSeconds * 1_000 };
}

test("readLimits() counts from Reset minus Date, so that a browser's clock may be ten minutes off", () => {
  const shown = {
    plan: "free",
    readOnly: false,
    minute: { limit: "60", remaining: "59", reset: String(reset(42)) },
    day: { limit: "1000", remaining: "999", reset: String(reset(80_000)) },
  };
  assert.deepEqual(readLimits(shown, fields(), nowMs), quota(59, 999));
});

test("no window is shown longer than it is, though Reset is rounded up and Date down", () => {
  const window = (leftSeconds: number) => ({ limit: "60", remaining: "59", reset: String(reset(leftSeconds)) });
  const limits = { plan: "free", readOnly: false, minute: window(61), day: window(86_401) };
  const { minute, day } = readLimits(limits, fields(), nowMs);
  assert.deepEqual([minute, day].map(({ endsAtMs }) => countdown(endsAtMs - nowMs)), ["1 min", "24 h"]);
  const next = after({ minute, day }, rate(60, 59, 122 - 61));
  assert.equal(next.minute.endsAtMs, nowMs + 60_000);
});

test("readRate() reads one window, and prefers Retry-After to Reset", () => {
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

function after(before: Quota, reported: Rate): Quota {
  return afterResponse(before, reported, nowMs) ?? assert.fail("neither window");
}

test("afterResponse() sets the window that the fields report; the other stays as the service said it last", () => {
  assert.deepEqual(after(quota(50, 900), rate(60, 48, 42)), quota(48, 900));
  assert.deepEqual(after(quota(50, 3), rate(1_000, 2, 80_000)), quota(50, 2));
  const next = after(quota(3, 900), rate(60, 59, 60));
  assert.deepEqual(next, { ...quota(3, 900), minute: { limit: 60, remaining: 59, reset: reset(60), endsAtMs: nowMs + 60_000 } });
});

test("afterResponse() distinguishes windows of equal limits by their resets", () => {
  const both = { ...quota(50, 50), day: { ...quota(50, 50).day, limit: 60 } };
  for (const [leftSeconds, left] of [[80_000, [50, 49]], [42, [49, 50]]] as const) {
    const { minute, day } = after(both, rate(60, 49, leftSeconds));
    assert.deepEqual([minute.remaining, day.remaining], left);
  }
});

test("afterResponse() knows nothing more if the fields are of neither window: the plan has changed", () => {
  assert.equal(afterResponse(quota(50, 900), rate(300, 299, 42), nowMs), undefined);
  // From Free to Business: its minute has as many requests as the day of Free.
  assert.equal(afterResponse(quota(50, 900), rate(1_000, 996, 42), nowMs), undefined);
  assert.equal(afterResponse(quota(50, 900), rate(60, 49, 80_000), nowMs), undefined);
});

test("afterResponse() does not set a countdown back because of rounding", () => {
  assert.deepEqual(after(quota(50, 900), { ...rate(60, 49, 42), leftMs: 43_000 }), quota(49, 900));
});

test("isLimits() is true of what GET /limits promises, and of nothing else that may come from a proxy", () => {
  const window = { limit: "60", remaining: "59", reset: "1" };
  assert.ok(isLimits({ plan: "free", readOnly: false, minute: window, day: window }));
  for (const body of [{}, [], [null], "x", { plan: {}, minute: window, day: window }, { plan: "free", minute: null, day: 1 }]) {
    assert.ok(!isLimits(body), JSON.stringify(body));
  }
});

test("hasSpare() leaves ten requests of the minute and a tenth of the day, by the fields or by counting", () => {
  for (const [minute, day, counted, expected] of [
    [11, 101, 101, true],
    [10, 101, 101, false],
    [11, 100, 101, false],
    [11, 101, 100, false],
  ] as const) {
    assert.equal(hasSpare(quota(minute, day), counted), expected, `${minute} ${day} ${counted}`);
  }
});

test("countdown() rounds seconds up, so that it never ends too early, and names the two largest units", () => {
  const table = [
    [0, "0 s"],
    [-5, "0 s"],
    [1, "1 s"],
    [42_000, "42 s"],
    [59_001, "1 min"],
    [300_000, "5 min"],
    [845_000, "14 min 5 s"],
    [3_600_000, "1 h"],
    [86_350_000, "23 h 59 min"],
  ] as const;
  for (const [leftMs, text] of table) {
    assert.equal(countdown(leftMs), text);
  }
});
