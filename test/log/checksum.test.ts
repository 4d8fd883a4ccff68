/**
 * The checksum against zlib's, and lines with their checksums.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 as zlibCrc32 } from "node:zlib";

import { checksumBytes, crc32, endOfChecksummedLine, hasChecksum, lineWithChecksum, viewOf } from "../../src/log/checksum.ts";
import { seeded } from "../support/seeded-random.ts";

test("crc32() of any stretch of bytes is zlib's", seeded((random) => {
  const bytes = Buffer.from(random.times(600, () => random.integer(0, 255)));
  for (let run = 0; run < 2_000; run++) {
    const start = random.integer(0, bytes.length);
    const end = random.integer(start, random.oneIn(2) ? bytes.length : Math.min(bytes.length, start + 20));
    assert.equal(crc32(viewOf(bytes), start, end), zlibCrc32(bytes.subarray(start, end)), `[${start}, ${end})`);
  }
}));

test("endOfChecksummedLine() finds the end of a line that lineWithChecksum() made, also without its newline", seeded((random) => {
  for (let run = 0; run < 200; run++) {
    const json = JSON.stringify({ name: "é\"x,\"crc\":\"".repeat(random.integer(0, 20)), id: random.uint32() });
    const line = lineWithChecksum(json);
    assert.equal(line.slice(0, 1 - checksumBytes), `${json.slice(0, -1)},`);
    const bytes = Buffer.from(`junk${line.slice(0, -1)}${random.pick(["", "\n", line, "junk"])}`);
    const end = "junk".length + Buffer.byteLength(line) - 1;
    assert.equal(endOfChecksummedLine(viewOf(bytes), "junk".length, bytes.length), end);
    assert.equal(endOfChecksummedLine(viewOf(bytes), "junk".length, end - 1), -1);
    assert.equal(hasChecksum(viewOf(bytes), "junk".length, end), true);
  }
}));

test("hasChecksum() is false for a line with any damaged byte, or cut anywhere", () => {
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
