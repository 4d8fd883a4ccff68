import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import type { ApiKey } from "../../src/keys/key.ts";
import * as key from "../../src/keys/key.ts";
import { createPlan } from "../../src/limits/plans.ts";
import { seeded } from "../support/seeded-random.ts";

const nowMs = Date.UTC(2026, 10, 21, 12);
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function numberOf(text: string): bigint {
  return Array.from(text).reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n);
}

test("createSecret() has all 256 bits of 32 random bytes in 43 letters and digits, which a double click selects", seeded((random) => {
  const random32 = () => Uint8Array.from({ length: 32 }, () => random.integer(0, 255));
  for (const bytes of [new Uint8Array(32), new Uint8Array(32).fill(0xff), ...random.times(300, random32)]) {
    const secret = key.createSecret((byteCount) => {
      assert.equal(byteCount, 32);
      return bytes;
    });
    assert.match(secret, /^as_[0-9A-Za-z]{43}$/);
    assert.equal(numberOf(secret.slice("as_".length)), BigInt(`0x${Buffer.from(bytes).toString("hex")}`));
  }
}));

test("isSecret() is false for another length, letter or prefix", () => {
  const right = `as_${"a".repeat(43)}`;
  assert.equal(key.isSecret(right), true);
  for (const wrong of ["", right.slice(1), `${right}a`, right.slice(0, -1), `AS_${"a".repeat(43)}`, `${right}\n`,
    `as_${"a".repeat(42)}-`, `as_${"a".repeat(42)}_`, `as_${"a".repeat(42)}é`]) {
    assert.equal(key.isSecret(wrong), false, JSON.stringify(wrong));
  }
});

test("checkedLabel() counts code points up to 64", () => {
  for (const letter of ["x", "ä", "🐕"]) {
    assert.equal(key.checkedLabel(letter.repeat(63)), letter.repeat(63));
    assert.equal(key.checkedLabel(letter.repeat(64)), letter.repeat(64));
    assert.throws(() => key.checkedLabel(letter.repeat(65)), /^RangeError: Cannot label key: .*at most 64 printable/);
  }
});

test("checkedLabel() repeats no key, whatever else is wrong with the label", () => {
  const secret = key.createSecret((byteCount) => new Uint8Array(byteCount).fill(7));
  for (const label of [secret, `${secret}\n`, secret.repeat(2)]) {
    assert.throws(() => key.checkedLabel(label), { name: "RangeError", message: "Cannot label key: the label contains a key" });
  }
  assert.throws(() => key.checkedLabel(4 as unknown as string), /^RangeError: .* received 4$/);
});

test("checkedLabel() returns undefined for an empty label", () => {
  assert.equal(key.checkedLabel(""), undefined);
  assert.equal(key.checkedLabel(undefined), undefined);
});

test("checkedLabel() rejects what is not printable", () => {
  const faults = {
    "a control character": "\u001b[31m", "a newline": "a\nb", "a C1 control": "\u0085", "a line separator": "\u2028",
    "a paragraph separator": "\u2029", "a lone surrogate": "\ud800", "a change of direction": "\u202e",
    "a zero-width joiner": "\u200d", "a private code point": "\ue000", "an unassigned code point": "\u0378",
  };
  for (const [name, label] of Object.entries(faults)) {
    assert.throws(() => key.checkedLabel(label), RangeError, name);
  }
});

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
    assert.equal(key.expiryMs(expires, nowMs), expected, inspect(expires));
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
    assert.throws(() => key.expiryMs(expires, nowMs), /^RangeError: Cannot set expiry: must be a date such as/, inspect(expires));
  }
});

test("expiryMs() rejects the past and the present", () => {
  for (const text of ["2026-11-21", "2026-11-21T11:59:59.999Z", "2026-11-21T12:00:00Z"]) {
    assert.throws(() => key.expiryMs(text, nowMs), /^RangeError: Cannot set expiry: must be in the future/, text);
  }
});

test("keyState() changes at the exact millisecond of the expiry", () => {
  const made: ApiKey = {
    id: "key_a", plan: createPlan("free"), label: undefined, isReadOnly: false, createdMs: nowMs, expiresMs: nowMs + 20,
    revokedMs: undefined, graceUntilMs: undefined, unbannedMs: undefined, resetMs: undefined,
  };
  const states = [19, 20].map((laterMs) => key.keyState(made, nowMs + laterMs));
  assert.deepEqual(states, ["active", "expired"]);
  assert.equal(key.keyState({ ...made, revokedMs: nowMs }, nowMs + 20), "revoked");
});
