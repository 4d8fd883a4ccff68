import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { onceSecondsMax, OnceTable, onceTokenCharacters, onceTokensMin } from "../../src/store/once-table.ts";

function tokenOf(number: number): string {
  return createHash("md5").update(String(number)).digest("base64url");
}

test("OnceTable.find() returns the animal of a token for 24 hours, and no other animal", () => {
  const table = new OnceTable();
  assert.equal(tokenOf(1).length, onceTokenCharacters);
  assert.equal(table.find(tokenOf(1), 0), undefined);
  table.add(tokenOf(1), 7, 100);
  for (const [nowSeconds, petId] of [
    [99, 7],
    [100, 7],
    [100 + onceSecondsMax - 1, 7],
    [100 + onceSecondsMax, undefined],
    [100 + onceSecondsMax + 1, undefined],
  ] as const) {
    assert.equal(table.find(tokenOf(1), nowSeconds), petId, String(nowSeconds));
  }
  assert.equal(table.find(tokenOf(2), 100), undefined);
});

test("OnceTable.add() takes a token again once it is too old", () => {
  const table = new OnceTable();
  table.add(tokenOf(1), 7, -50);
  table.add(tokenOf(1), 8, onceSecondsMax);
  assert.equal(table.find(tokenOf(1), onceSecondsMax), 8);
});

test("OnceTable finds tokens whose hashes are equal", () => {
  const table = new OnceTable();
  const tokens = Array.from({ length: 50 }, (_, index) => Buffer.from([1, 2, 3, 4, ...Array<number>(11).fill(0), index]));
  tokens.forEach((token, index) => table.add(token.toString("base64url"), index + 1, 0));
  tokens.forEach((token, index) => assert.equal(table.find(token.toString("base64url"), 0), index + 1));
});

test(`OnceTable keeps the last ${onceTokensMin} tokens in at most 48 bytes each, and forgets older ones`, () => {
  const table = new OnceTable();
  const before = process.memoryUsage().arrayBuffers;
  const total = onceTokensMin * 1.3;
  const bytes = Buffer.alloc(16);
  const tokenAt = (index: number): string => {
    bytes.writeUInt32LE(Math.imul(index, 0x9e3779b1) >>> 0, 0);
    bytes.writeUInt32LE(index, 4);
    return bytes.toString("base64url");
  };
  for (let index = 1; index <= total; index++) {
    table.add(tokenAt(index), index, 0);
  }
  for (let index = total - onceTokensMin + 1; index <= total; index += 997) {
    assert.equal(table.find(tokenAt(index), 0), index);
  }
  assert.equal(table.find(tokenAt(1), 0), undefined);
  assert.ok((process.memoryUsage().arrayBuffers - before) / onceTokensMin <= 48);
});

test("OnceTable gives memory back once all tokens of a segment are too old", () => {
  const table = new OnceTable();
  for (let index = 1; index <= 120_000; index++) {
    table.add(tokenOf(index), index, 0);
  }
  assert.equal(table.count, 120_000);
  table.add(tokenOf(0), 1, onceSecondsMax);
  table.add(tokenOf(-1), 2, onceSecondsMax);
  assert.ok(table.count < 120_000, String(table.count));
  assert.equal(table.find(tokenOf(0), onceSecondsMax), 1);
});
