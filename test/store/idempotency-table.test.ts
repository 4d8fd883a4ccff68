import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { viewOf } from "../../src/log/checksum.ts";
import { idempotencySecondsMax, IdempotencyTable, idempotencyHashCharacters } from "../../src/store/idempotency-table.ts";

function hashOf(number: number): DataView {
  const hash = createHash("md5").update(String(number)).digest("base64url");
  assert.equal(hash.length, idempotencyHashCharacters);
  return viewOf(Buffer.from(`before ${hash} after`));
}

const start = "before ".length;

test("IdempotencyTable.find() distinguishes hashes that differ in any one character", () => {
  const table = new IdempotencyTable();
  const hashes = Array.from({ length: idempotencyHashCharacters }, (_, index) => {
    return viewOf(Buffer.from("a".repeat(idempotencyHashCharacters).replace(/a/g, (letter, at) => (at === index ? "b" : letter))));
  });
  hashes.forEach((hash, index) => table.add(hash, 0, index + 1, 0));
  hashes.forEach((hash, index) => assert.equal(table.find(hash, 0, 0), index + 1));
});

test("IdempotencyTable keeps the last 1,000,000 hashes in at most 48 bytes each, and forgets older ones", () => {
  const kept = 1_000_000;
  const table = new IdempotencyTable();
  const before = process.memoryUsage().arrayBuffers;
  const total = kept * 1.3;
  const bytes = viewOf(Buffer.alloc(idempotencyHashCharacters));
  const hashAt = (index: number): DataView => {
    const first = Math.imul(index ^ (index >>> 16), 0x85ebca6b);
    bytes.setUint32(0, first ^ (first >>> 13)); // As good as random, so that some searches pass the end of a segment.
    bytes.setUint32(4, index);
    return bytes;
  };
  for (let index = 1; index <= total; index++) {
    if (index === kept) {
      // Before anything is dropped: when that is collected is up to the collector.
      assert.ok((process.memoryUsage().arrayBuffers - before) / kept <= 48);
    }
    table.add(hashAt(index), 0, index, 0);
    const oldest = index - kept + 1;
    if (oldest > 0 && table.find(hashAt(oldest), 0, 0) !== oldest) {
      assert.fail(`hash ${oldest} is forgotten after ${index} hashes`);
    }
  }
  assert.equal(table.find(hashAt(1), 0, 0), undefined);
});

test("IdempotencyTable gives memory back once all hashes of a segment are too old", () => {
  const table = new IdempotencyTable();
  const bytes = viewOf(Buffer.alloc(idempotencyHashCharacters));
  for (let index = 1; index <= 120_000; index++) {
    bytes.setUint32(0, Math.imul(index, 0x85ebca6b));
    table.add(bytes, 0, index, 0);
  }
  assert.equal(table.count, 120_000);
  table.add(hashOf(0), start, 1, idempotencySecondsMax);
  table.add(hashOf(-1), start, 2, idempotencySecondsMax);
  assert.ok(table.count < 120_000, String(table.count));
  assert.equal(table.find(hashOf(0), start, idempotencySecondsMax), 1);
});
