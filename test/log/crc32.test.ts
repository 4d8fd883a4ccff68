/**
 * The checksum against zlib's, and the seal of a line.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 as zlibCrc32 } from "node:zlib";

import { hasChecksum, checksumBytes, writeChecksum, lineWithChecksum } from "../../src/log/checksum.ts";
import { crc32 } from "../../src/log/crc32.ts";
import { viewOf } from "../../src/log/literal.ts";
import { seeded } from "../support/seeded-random.ts";

test("the checksum of any stretch of bytes is zlib's", seeded((random) => {
  const bytes = Buffer.from(random.times(600, () => random.integer(0, 255)));
  for (let run = 0; run < 2_000; run++) {
    const start = random.integer(0, bytes.length);
    const end = random.integer(start, random.oneIn(2) ? bytes.length : Math.min(bytes.length, start + 20));
    assert.equal(crc32(viewOf(bytes), start, end), zlibCrc32(bytes.subarray(start, end)), `[${start}, ${end})`);
  }
}));

test("both ways of sealing a line write the same bytes, and the seal is found right", seeded((random) => {
  for (let run = 0; run < 200; run++) {
    const json = JSON.stringify({ name: "é\"x".repeat(random.integer(0, 20)), id: random.uint32() });
    const line = Buffer.from(lineWithChecksum(json));
    const start = random.integer(0, 20);
    const bytes = Buffer.alloc(start + Buffer.byteLength(json) - 1 + checksumBytes);
    const end = writeChecksum(viewOf(bytes), start, start + bytes.write(json.slice(0, -1), start));
    assert.equal(end, bytes.length);
    assert.deepEqual(bytes.subarray(start), line);
    assert.equal(hasChecksum(viewOf(bytes), start, end - 1), true);
  }
}));

test("a line with any one byte damaged, or cut anywhere, is not sealed", () => {
  const line = Buffer.from(lineWithChecksum('{"id":8,"name":"Rex"}')).subarray(0, -1);
  for (let at = 0; at < line.length; at++) {
    for (let flip = 1; flip < 256; flip++) {
      const damaged = Buffer.from(line);
      damaged[at] = (damaged[at] ?? 0) ^ flip;
      assert.equal(hasChecksum(viewOf(damaged), 0, damaged.length), false, `byte ${at} xor ${flip}`);
    }
    assert.equal(hasChecksum(viewOf(line), 0, at), false, `cut at ${at}`);
  }
});
