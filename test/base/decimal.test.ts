import assert from "node:assert/strict";
import { test } from "node:test";

import { decimal } from "../../src/base/decimal.ts";

test("decimal() writes an integer as String does", () => {
  for (const integer of [0, 9, 999, 1_000, 1_001, 59_099, 999_999, 1_000_000, 1_795_219_200, Number.MAX_SAFE_INTEGER]) {
    assert.equal(decimal(integer), String(integer));
  }
});
