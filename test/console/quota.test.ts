import assert from "node:assert/strict";
import { test } from "node:test";

import { clockTime, isScarce, readRate } from "../../src/console/quota.ts";

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

test("readRate() counts from Reset minus Date, so that a browser's clock may be ten minutes off, and prefers Retry-After", () => {
  assert.deepEqual(readRate(fields(rateFields(60, 3, 42)), nowMs), { limit: 60, remaining: 3, leftMs: 42_000 });
  const refused = fields({ ...rateFields(60, 0, 42), "Retry-After": "41" });
  assert.deepEqual(readRate(refused, nowMs), { limit: 60, remaining: 0, leftMs: 41_000 });
  assert.equal(readRate(fields(), nowMs), undefined);
});

test("readRate() takes Reset if Retry-After is no number, and does without Date", () => {
  const date = new Date(serverMs + 41_000).toUTCString();
  assert.equal(readRate(fields({ ...rateFields(60, 0, 42), "Retry-After": date }), nowMs)?.leftMs, 42_000);
  assert.equal(readRate(fields({ ...rateFields(60, 3, 42), Date: "" }), serverMs)?.leftMs, 42_000);
  assert.equal(readRate(fields({ "X-RateLimit-Limit": "60", "X-RateLimit-Reset": "soon" }), nowMs), undefined);
});

test("isScarce() is true from a fifth on", () => {
  for (const [limit, remaining, expected] of [[60, 13, false], [60, 12, true], [60, 0, true], [1, 1, false], [1, 0, true]] as const) {
    assert.equal(isScarce({ limit, remaining }), expected, `${remaining} of ${limit}`);
  }
});

test("clockTime() has the date, unless that is today", () => {
  const day = 86_400_000;
  assert.match(clockTime(Date.now()), /^\d+:\d\d:\d\d/);
  for (const ms of [Date.now() + day, Date.now() - day, Date.now() + 365 * day]) {
    assert.ok(clockTime(ms).includes(String(new Date(ms).getFullYear())), `${ms}`);
  }
});
