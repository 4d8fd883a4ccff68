import assert from "node:assert/strict";
import { test } from "node:test";

import {
  afterResponse, afterUnknown, type Bucket, bucketAt, countdown, type Quota, type Rate, readLimits, readRate, shortage,
} from "../../src/console/quota.ts";

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

/** A response took 100 ms. */
const ms = 100;

function endIn(leftMs: number): Pick<Bucket, "endsAtMs" | "fullFromMs"> {
  return { endsAtMs: nowMs + leftMs, fullFromMs: nowMs + leftMs - 2_100 };
}

function quota(minuteLeft: number, dayLeft: number): Quota {
  return {
    minute: { limit: 60, remaining: minuteLeft, reset: reset(42), ...endIn(42_000), isExact: true },
    day: { limit: 1_000, remaining: dayLeft, reset: reset(80_000), ...endIn(80_000_000), isExact: true },
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
  assert.deepEqual(readLimits(shown, fields(), nowMs, ms), quota(59, 999));
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

function after(before: Quota, reported: Rate, taken: 0 | 1 = 1): Quota {
  return afterResponse(before, reported, taken, nowMs, ms) ?? assert.fail("neither bucket");
}

/** As the meters show it. */
function textOf({ minute, day }: Quota): string {
  return [minute, day].map(({ remaining, isExact }) => `${isExact ? "" : "≤ "}${remaining}`).join(", ");
}

test("afterResponse() sets the bucket that the fields report, and counts the request down in the other, as an upper bound", () => {
  assert.equal(textOf(after(quota(50, 900), rate(60, 48, 42))), "48, ≤ 899");
  assert.equal(textOf(after(quota(50, 3), rate(1_000, 2, 80_000))), "≤ 49, 2");
  assert.equal(textOf(after(quota(50, 900), rate(60, 0, 42), 0)), "0, ≤ 900", "a 429 takes nothing");
});

test("afterUnknown() keeps both numbers as upper bounds", () => {
  assert.equal(textOf(afterUnknown(quota(50, 900))), "≤ 50, ≤ 900");
});

test("afterResponse() distinguishes buckets of equal limits by their resets", () => {
  const both = { ...quota(50, 50), day: { ...quota(50, 50).day, limit: 60 } };
  assert.equal(textOf(after(both, rate(60, 49, 80_000))), "≤ 49, 49");
  assert.equal(textOf(after(both, rate(60, 49, 42))), "49, ≤ 49");
});

test("afterResponse() knows nothing more if the fields are of neither bucket: the plan has changed", () => {
  assert.equal(afterResponse(quota(50, 900), rate(300, 299, 42), 1, nowMs, ms), undefined);
  // From Free to Business: its minute has as many requests as the day of Free.
  assert.equal(afterResponse(quota(50, 900), rate(1_000, 996, 42), 1, nowMs, ms), undefined);
  assert.equal(afterResponse(quota(50, 900), rate(60, 49, 80_000), 1, nowMs, ms), undefined);
});

test("afterResponse() makes the other bucket full where the fields prove that an operator has reset the key", () => {
  for (const [before, reported, text] of [
    [quota(50, 900), rate(60, 59, 60), "59, ≤ 999"], // A new window, before the end of the last one.
    [quota(50, 900), rate(60, 59, 42), "59, ≤ 999"], // More than there was.
    [quota(0, 20), rate(60, 59, 60), "59, ≤ 999"],
    [quota(50, 20), rate(60, 49, 42), "49, ≤ 999"], // The other one has no fewer.
    [quota(50, 3), rate(1_000, 999, 86_400), "≤ 59, 999"],
  ] as const) {
    assert.equal(textOf(after(before, reported)), text);
  }
});

test("afterResponse() sees no reset where a window has ended, or may have", () => {
  for (const leftMs of [-1_000, 0, 2_000]) {
    const ended = { ...quota(3, 900), minute: { ...quota(3, 900).minute, ...endIn(leftMs) } };
    assert.equal(textOf(after(ended, rate(60, 59, 60))), "59, ≤ 899");
  }
});

test("afterResponse() does not set a countdown back because of rounding", () => {
  const { minute } = after(quota(50, 900), { ...rate(60, 49, 42), leftMs: 43_000 });
  assert.deepEqual(minute, quota(49, 0).minute);
  const next = after(quota(50, 900), rate(60, 59, 60)).minute;
  assert.equal(next.endsAtMs, nowMs + 60_000);
});

test("bucketAt() is full as soon as the window may have ended, as an upper bound: another program may have begun the next", () => {
  const { minute } = quota(3, 900);
  assert.equal(bucketAt(minute, nowMs + 39_899), minute);
  assert.deepEqual(bucketAt(minute, nowMs + 39_900), { ...minute, remaining: 60, isExact: false });
});

test("shortage() says in words what is below a fifth, below a twentieth, and nothing", () => {
  const words = [0, 1, 2, 3, 11, 12, 60].map((remaining) => shortage({ ...quota(0, 0).minute, remaining })[0]);
  const [almost, low] = ["almost used up, ", "running low, "];
  assert.deepEqual(words, ["used up, ", almost, almost, low, low, "", ""]);
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
