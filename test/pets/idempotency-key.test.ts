import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { idempotencyKeyCharactersMax, idempotencyHash, readIdempotencyKey } from "../../src/pets/idempotency-key.ts";

const longest = "a".repeat(idempotencyKeyCharactersMax);

const rows: readonly (readonly [field: string, value: string | undefined])[] = [
  ["order-17", "order-17"],
  ['"order-17"', "order-17"],
  ["8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"],
  ["!", "!"],
  ["~", "~"],
  ["a,b;c=d", "a,b;c=d"],
  ["a\\b", "a\\b"],
  ['"a\\"b"', 'a"b'],
  ['"a\\\\b"', "a\\b"],
  ["a".repeat(254), "a".repeat(254)],
  [longest, longest],
  [`"${longest}"`, longest],
  [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
  [`${longest}a`, undefined],
  [`"${longest}a"`, undefined],
  ["", undefined],
  ['""', undefined],
  ['"', undefined],
  ['"a', undefined],
  ['a"', undefined],
  ['a"b', undefined],
  ['"a"b"', undefined],
  ['"a\\b"', undefined],
  ['"a\\"', undefined],
  ['"a";x=1', undefined],
  ["a b", undefined],
  ['"a b"', undefined],
  ["a\tb", undefined],
  ["\u007f", undefined],
  ["ä", undefined],
  // Two fields, as Node joins them.
  ["a, b", undefined],
  ['"a", "b"', undefined],
  ['"a, b"', undefined],
];

test("readIdempotencyKey() reads a quoted string or a bare word of 1 to 255 visible ASCII characters, and nothing else", () => {
  for (const [field, value] of rows) {
    assert.equal(readIdempotencyKey(field), value, field);
  }
});

test("idempotencyHash() is 128 bits of SHA-256 over the key's id and the value, so no key sees another's", () => {
  const digest = createHash("sha256").update("key_a\norder-17").digest().subarray(0, 16);
  assert.equal(idempotencyHash("key_a", "order-17"), digest.toString("base64url"));
  assert.match(idempotencyHash("key_a", "order-17"), /^[A-Za-z0-9_-]{22}$/);
  assert.notEqual(idempotencyHash("key_a", "order-17"), idempotencyHash("key_b", "order-17"));
});
