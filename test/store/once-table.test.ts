import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { viewOf } from "../../src/log/checksum.ts";
import { onceSecondsMax, OnceTable, onceTokenCharacters, onceTokensMin } from "../../src/store/once-table.ts";

function tokenOf(number: number): DataView {
  const token = createHash("md5").update(String(number)).digest("base64url");
  assert.equal(token.length, onceTokenCharacters);
  return viewOf(Buffer.from(`before ${token} after`));
}

const start = "before ".length;

test("OnceTable.find() returns the animal of a token for 24 hours, and no other animal", () => {
  const table = new OnceTable();
  assert.equal(table.find(tokenOf(1), start, 0), undefined);
  table.add(tokenOf(1), start, 7, 100);
  for (const [nowSeconds, petId] of [
    [99, 7],
    [100, 7],
    [100 + onceSecondsMax - 1, 7],
    [100 + onceSecondsMax, undefined],
    [100 + onceSecondsMax + 1, undefined],
  ] as const) {
    assert.equal(table.find(tokenOf(1), start, nowSeconds), petId, String(nowSeconds));
  }
  assert.equal(table.find(tokenOf(2), start, 100), undefined);
});

test("OnceTable.add() takes a token again once it is too old", () => {
  const table = new OnceTable();
  table.add(tokenOf(1), start, 7, -50);
  table.add(tokenOf(1), start, 8, onceSecondsMax);
  assert.equal(table.find(tokenOf(1), start, onceSecondsMax), 8);
});

test("OnceTable.find() distinguishes tokens that differ in any one character", () => {
  const table = new OnceTable();
  const tokens = Array.from({ length: onceTokenCharacters }, (_, index) => {
    return viewOf(Buffer.from("a".repeat(onceTokenCharacters).replace(/a/g, (letter, at) => (at === index ? "b" : letter))));
  });
  tokens.forEach((token, index) => table.add(token, 0, index + 1, 0));
  tokens.forEach((token, index) => assert.equal(table.find(token, 0, 0), index + 1));
});

test(`OnceTable keeps the last ${onceTokensMin} tokens in at most 48 bytes each, and forgets older ones`, () => {
  const table = new OnceTable();
  const before = process.memoryUsage().arrayBuffers;
  const total = onceTokensMin * 1.3;
  const bytes = viewOf(Buffer.alloc(onceTokenCharacters));
  const tokenAt = (index: number): DataView => {
    bytes.setUint32(0, Math.imul(index, 0x85ebca6b));
    bytes.setUint32(4, index);
    return bytes;
  };
  for (let index = 1; index <= total; index++) {
    table.add(tokenAt(index), 0, index, 0);
  }
  for (let index = total - onceTokensMin + 1; index <= total; index += 997) {
    assert.equal(table.find(tokenAt(index), 0, 0), index);
  }
  assert.equal(table.find(tokenAt(1), 0, 0), undefined);
  assert.ok((process.memoryUsage().arrayBuffers - before) / onceTokensMin <= 48);
});

test("OnceTable gives memory back once all tokens of a segment are too old", () => {
  const table = new OnceTable();
  const bytes = viewOf(Buffer.alloc(onceTokenCharacters));
  for (let index = 1; index <= 120_000; index++) {
    bytes.setUint32(0, Math.imul(index, 0x85ebca6b));
    table.add(bytes, 0, index, 0);
  }
  assert.equal(table.count, 120_000);
  table.add(tokenOf(0), start, 1, onceSecondsMax);
  table.add(tokenOf(-1), start, 2, onceSecondsMax);
  assert.ok(table.count < 120_000, String(table.count));
  assert.equal(table.find(tokenOf(0), start, onceSecondsMax), 1);
});
