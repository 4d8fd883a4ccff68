import assert from "node:assert/strict";
import { test } from "node:test";

import { decimal } from "../../src/decimal.ts";

test("decimal writes every number as String does", () => {
  for (let power = 1; power <= Number.MAX_SAFE_INTEGER; power *= 10) {
    for (const number of [power - 1, power, power + 1, power * 7, power * 9 + 9]) {
      assert.equal(decimal(number), String(number));
    }
  }
  assert.equal(decimal(Number.MAX_SAFE_INTEGER), String(Number.MAX_SAFE_INTEGER));
});
