import assert from "node:assert/strict";
import { test } from "node:test";

import * as key from "../../src/keys/key.ts";
import { seeded } from "../support/seeded-random.ts";

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function numberOf(text: string): bigint {
  return Array.from(text).reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n);
}

test("createSecret() has all 256 bits of 32 random bytes in 43 letters and digits, which a double click selects", seeded((random) => {
  const random32 = () => Uint8Array.from({ length: 32 }, () => random.integer(0, 255));
  for (const bytes of [new Uint8Array(32), new Uint8Array(32).fill(0xff), ...random.times(300, random32)]) {
    const secret = key.createSecret((byteCount) => {
      assert.equal(byteCount, 32);
      return bytes;
    });
    assert.match(secret, /^as_[0-9A-Za-z]{43}$/);
    assert.equal(numberOf(secret.slice("as_".length)), BigInt(`0x${Buffer.from(bytes).toString("hex")}`));
  }
}));

test("isSecret() is false for another length, letter or prefix", () => {
  const right = `as_${"a".repeat(43)}`;
  assert.equal(key.isSecret(right), true);
  for (const wrong of ["", right.slice(1), `${right}a`, right.slice(0, -1), `AS_${"a".repeat(43)}`, `${right}\n`,
    `as_${"a".repeat(42)}-`, `as_${"a".repeat(42)}_`, `as_${"a".repeat(42)}é`]) {
    assert.equal(key.isSecret(wrong), false, JSON.stringify(wrong));
  }
});
