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

test("toInt64() is exact to the last digit, up to both ends of int64 and not beyond", () => {
  assertTable([
    ["9223372036854775806", max - 1n],
    ["9223372036854775807", max],
    ["9223372036854775808", undefined],
    ["-9223372036854775807", min + 1n],
    ["-9223372036854775808", min],
    ["-9223372036854775809", undefined],
    ["9007199254740993", 9007199254740993n],
    ["-9007199254740993", -9007199254740993n],
    ["99999999999999999", 10n ** 17n - 1n],
    ["999999999999999999", 10n ** 18n - 1n],
    ["9999999999999999999", undefined],
    ["-999999999999999999", 1n - 10n ** 18n],
  ]);
});

test("toInt64() reads an integer in any spelling", () => {
  assertTable([
    ["5.0", 5n],
    ["5e0", 5n],
    ["5E+0", 5n],
    ["5e-0", 5n],
    ["50e-1", 5n],
    ["0.5e1", 5n],
    ["0.0005e4", 5n],
    ["500.00e-2", 5n],
    ["1e3", 1000n],
    ["-1.50e1", -15n],
    ["9.223372036854775807e18", max],
    ["9.223372036854775808e18", undefined],
    ["-9.223372036854775808e18", min],
    ["92233720368547758070e-1", max],
    ["92233720368547758070.0e-1", max],
    ["1e18", 10n ** 18n],
    ["1e19", undefined],
  ]);
});

test("toInt64() returns 0n for every zero, -0 included", () => {
  assertTable(
    ["0", "-0", "0.0", "-0.000", "0e0", "0e5", "0e-5", "0e999999999", "-0.0e-999999999", `0e${"9".repeat(400)}`]
      .map((text): [string, bigint] => [text, 0n]),
  );
});

test("toInt64() returns undefined for fractions", () => {
  assertTable(
    ["0.5", "5.1", "-0.1", "5e-1", "15e-1", "9007199254740993.5", "0.000000000000000000001", "1e-20"]
      .map((text): [string, undefined] => [text, undefined]),
  );
});

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
