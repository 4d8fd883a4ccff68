import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import { expiryMs } from "../../src/keys/key-options.ts";

const nowMs = Date.UTC(2026, 10, 21, 12);

const expiries: readonly (readonly [expires: string | Date, expiresMs: number])[] = [
  ["2027-01-31", Date.UTC(2027, 0, 31)],
  ["2028-02-29", Date.UTC(2028, 1, 29)],
  ["2027-01-31T00:00Z", Date.UTC(2027, 0, 31)],
  ["2027-01-31T23:59:59Z", Date.UTC(2027, 0, 31, 23, 59, 59)],
  ["2027-01-31T23:59:59.5+01:00", Date.UTC(2027, 0, 31, 22, 59, 59, 500)],
  ["2026-11-21T12:00:00.001Z", nowMs + 1],
  ["9999-12-31T23:59:59.999Z", Date.UTC(10_000, 0) - 1],
  [new Date(nowMs + 1), nowMs + 1],
];

test("expiryMs() reads a date, which is its first instant in UTC, and a time with its zone", () => {
  for (const [expires, expected] of expiries) {
    assert.equal(expiryMs(expires, nowMs), expected, inspect(expires));
  }
});

const wrongExpiries: readonly (string | Date)[] = [
  "", "tomorrow", "2027", "2027-01", "2027-1-31", "2027-02-29", "2027-02-30", "2027-04-31T00:00Z", "2027-13-01",
  "2027-01-31T24:00Z", "2027-01-31T12:60Z", "2027-01-31T12:00", "2027-01-31 12:00Z", "2027-01-31T12:00:00.0000Z",
  "2027-01-31Z", "+002027-01-31", "31.01.2027", "2027-01-31T12:00Z ", "9999-12-31T23:00-01:00",
  new Date(NaN), new Date(Date.UTC(10_000, 0)),
];

test("expiryMs() rejects what is no date or time", () => {
  for (const expires of wrongExpiries) {
    assert.throws(() => expiryMs(expires, nowMs), /^RangeError: Cannot set expiry: must be a date such as/, inspect(expires));
  }
});

test("expiryMs() rejects the past and the present", () => {
  for (const text of ["2026-11-21", "2026-11-21T11:59:59.999Z", "2026-11-21T12:00:00Z"]) {
    assert.throws(() => expiryMs(text, nowMs), /^RangeError: Cannot set expiry: must be in the future/, text);
  }
});
