import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { viewOf } from "../../src/base/checksum.ts";
import {
  idempotencyHashCharacters,
  idempotencySecondsMax,
  IdempotencyTable,
  seedBytes,
  type StoredRequest,
} from "../../src/store/idempotency-table.ts";
import { seededBytes } from "../support/random-bytes.ts";

function hashOf(number: number): DataView {
  const hash = createHash("md5").update(String(number)).digest("base64url");
  assert.equal(hash.length, idempotencyHashCharacters);
  return viewOf(Buffer.from(`before ${hash} after`));
}

const start = "before ".length;

function createOf(id: number): StoredRequest {
  return { id, isChange: false, statusIndex: id % 3, version: 1 };
}
const seed = seededBytes(1)(seedBytes);

// First: where a table's memory was freed before, the allocator gives a new one pages that are in use already.
test("a new IdempotencyTable with one hash takes less than 256 KiB", () => {
  const before = process.memoryUsage.rss();
  const tables = Array.from({ length: 64 }, () => {
    const table = new IdempotencyTable(seed);
    table.add(hashOf(1), start, createOf(1), 0);
    return table;
  });
  const bytes = (process.memoryUsage.rss() - before) / tables.length;
  assert.ok(bytes < 262_144, `${bytes} bytes`);
});

test("IdempotencyTable.find() distinguishes hashes that differ in any one character", () => {
  const table = new IdempotencyTable(seed);
  const hashes = Array.from({ length: idempotencyHashCharacters }, (_, index) => {
    return viewOf(Buffer.from("a".repeat(idempotencyHashCharacters).replace(/a/g, (letter, at) => (at === index ? "b" : letter))));
  });
  hashes.forEach((hash, index) => table.add(hash, 0, createOf(index + 1), 0));
  hashes.forEach((hash, index) => assert.deepEqual(table.find(hash, 0, 0), createOf(index + 1)));
});

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Where chosen hashes differ, all else of them being the same. */
const chosenPlaces: Readonly<Record<string, readonly number[]>> = {
  "begin alike": [4, 5, 6, 7],
  "end alike": [0, 1, 2, 3],
  "differ in the first character of each word": [0, 4, 8, 12, 16, 20],
  "differ in the last character of each word": [3, 7, 11, 15, 19, 21],
  "differ in the middle": [8, 9, 10, 14],
};

/** Milliseconds to add so many hashes, each made of its number by `write`. */
function timeOf(write: (bytes: Buffer, number: number) => void): number {
  const table = new IdempotencyTable(seed);
  const bytes = Buffer.alloc(idempotencyHashCharacters, "A");
  const view = viewOf(bytes);
  const startMs = performance.now();
  for (let number = 1; number <= 60_000; number++) {
    write(bytes, number);
    table.add(view, 0, createOf(number), 0);
  }
  return performance.now() - startMs;
}

for (const [title, places] of Object.entries(chosenPlaces)) {
  test(`IdempotencyTable takes hashes that ${title} about as fast as others`, () => {
    const write = (bytes: Buffer, number: number): void => {
      places.forEach((place, index) => (bytes[place] = alphabet.charCodeAt((number >> (6 * index)) & 63)));
    };
    const chosenMs = timeOf(write);
    const othersMs = timeOf((bytes, number) => {
      write(bytes, number);
      bytes.writeUInt32BE(Math.imul(number, 0x85ebca6b) >>> 0);
    });
    assert.ok(chosenMs < 10 * othersMs + 100, `${chosenMs} ms, others ${othersMs} ms`);
  });
}

test("IdempotencyTable keeps the last 1,000,000 hashes in at most 48 bytes each, and forgets older ones", () => {
  const kept = 1_000_000;
  const table = new IdempotencyTable(seed);
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
    table.add(hashAt(index), 0, createOf(index), 0);
    const oldest = index - kept + 1;
    if (oldest > 0 && table.find(hashAt(oldest), 0, 0)?.id !== oldest) {
      assert.fail(`hash ${oldest} is forgotten after ${index} hashes`);
    }
  }
  assert.equal(table.find(hashAt(1), 0, 0), undefined);
});

test("IdempotencyTable gives memory back once all hashes of a segment are too old", () => {
  const table = new IdempotencyTable(seed);
  const bytes = viewOf(Buffer.alloc(idempotencyHashCharacters));
  for (let index = 1; index <= 120_000; index++) {
    bytes.setUint32(0, Math.imul(index, 0x85ebca6b));
    table.add(bytes, 0, createOf(index), 0);
  }
  assert.equal(table.count, 120_000);
  table.add(hashOf(0), start, createOf(1), idempotencySecondsMax);
  table.add(hashOf(-1), start, createOf(2), idempotencySecondsMax);
  assert.ok(table.count < 120_000, String(table.count));
  assert.deepEqual(table.find(hashOf(0), start, idempotencySecondsMax), createOf(1));
});
