import assert from "node:assert/strict";
import { test } from "node:test";

import { toInt64 } from "../../src/pets/int64.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { seeded } from "../support/seeded-random.ts";
import { randomNumberText } from "./json-texts.ts";

const min = -(2n ** 63n);
const max = 2n ** 63n - 1n;

function assertTable(rows: readonly [text: string, expected: bigint | undefined][]): void {
  for (const [text, expected] of rows) {
    assert.equal(toInt64(text), expected, text);
  }
}

test("toInt64() decides at once however huge the exponent and however many the digits", () => {
  const zeros = "0".repeat(1_000_000);
  assertTable([
    ["1e999999999", undefined],
    ["-1e999999999", undefined],
    ["1e-999999999", undefined],
    ["1.5e99999999999999999999", undefined],
    [`1e${"9".repeat(400)}`, undefined],
    [`1e-${"9".repeat(400)}`, undefined],
    [`1${zeros}e-1000000`, 1n],
    [`0.${zeros}7e1000001`, 7n],
    [`0.${zeros}7e1000000`, undefined],
    [`5.${zeros}`, 5n],
    [`5.${zeros}1`, undefined],
    [`1e${zeros}2`, 100n],
    [`1${zeros}`, undefined],
    [`-${zeros}1`, -1n],
    [" 5 ", 5n],
  ]);
});

/** The same by plain arithmetic, at any cost. */
function naiveInt64(text: string): bigint | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  assert.ok(match, text);
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const scale = BigInt(exponent) - BigInt(fraction.length);
  const digits = BigInt(sign + whole + fraction);
  const divisor = scale < 0n ? 10n ** -scale : 1n;
  if (digits % divisor !== 0n) {
    return undefined;
  }
  const integer = scale < 0n ? digits / divisor : digits * 10n ** scale;
  return integer >= min && integer <= max ? integer : undefined;
}

/** A number near an end of int64, or anywhere, its point moved about. */
function movedPoint(random: SeededRandom): string {
  const near = random.pick([min, max, 10n ** 18n, -(10n ** 17n), 0n]) + BigInt(random.integer(-3, 3));
  const sign = near < 0n ? "-" : "";
  const magnitude = (near < 0n ? -near : near).toString();
  const digits = magnitude.padStart(random.integer(1, 24), "0") + "0".repeat(random.integer(0, 3));
  const point = random.integer(1, digits.length);
  const fraction = digits.slice(point);
  const whole = digits.slice(0, point).replace(/^0+(?=\d)/, "");
  return `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}e${fraction.length + random.integer(-4, 1)}`;
}

test("toInt64() agrees with plain arithmetic on random numbers", seeded((random) => {
  let integerCount = 0;
  for (let count = 0; count < 10_000; count += 1) {
    const text = random.oneIn(2) ? movedPoint(random) : randomNumberText(random);
    if (/[eE][+-]?\d{5}/.test(text)) {
      continue;
    }
    const expected = naiveInt64(text);
    assert.equal(toInt64(text), expected, text);
    integerCount += expected === undefined ? 0 : 1;
  }
  assert.ok(integerCount > 1000, `only ${integerCount} integers`);
}));
