/**
 * A literal is found at its place and at no other: of any length, and with any one byte changed.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { viewOf } from "../../src/log/checksum.ts";
import { Literal } from "../../src/log/byte-literal.ts";

const lengths = [4, 5, 6, 7, 8, 9, 15, 16];
const text = "abcdefghijklmnop";

test("Literal.isAt() is true at the text's place alone", () => {
  for (const length of lengths) {
    const literal = new Literal(text.slice(0, length));
    const bytes = Buffer.from(`xx${text.slice(0, length)}`);
    for (let at = 0; at <= 2; at++) {
      assert.equal(literal.isAt(viewOf(bytes), at), at === 2, `${length} at ${at}`);
    }
  }
});

test("Literal.isAt() is false if any one byte differs", () => {
  for (const length of lengths) {
    const literal = new Literal(text.slice(0, length));
    for (let changed = 0; changed < length; changed++) {
      const bytes = Buffer.from(text);
      bytes[changed] = 0x58;
      assert.equal(literal.isAt(viewOf(bytes), 0), false, `byte ${changed} of ${length}`);
    }
  }
});
