/**
 * The checksum against zlib's. What lines with it promise is in test/fault/damage.test.ts.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 as zlibCrc32 } from "node:zlib";

import { crc32, viewOf } from "../../src/base/checksum.ts";
import { seeded } from "../support/seeded-random.ts";

test("crc32() of any stretch of bytes is zlib's", seeded((random) => {
  const bytes = Buffer.from(random.times(600, () => random.integer(0, 255)));
  for (let run = 0; run < 2_000; run++) {
    const start = random.integer(0, bytes.length);
    const end = random.integer(start, random.oneIn(2) ? bytes.length : Math.min(bytes.length, start + 20));
    assert.equal(crc32(viewOf(bytes), start, end), zlibCrc32(bytes.subarray(start, end)), `[${start}, ${end})`);
  }
}));
