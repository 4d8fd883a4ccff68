/**
 * A literal is found where it stands, and nowhere else: of any length, with any one byte of it changed, and up to the
 * end it is given.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Literal, viewOf } from "../../src/log/literal.ts";

const lengths = [4, 5, 6, 7, 8, 9, 15, 16];
const text = "abcdefghijklmnop";

test("Literal.standsAt() is true at its place alone, up to the very end", () => {
  for (const length of lengths) {
    const literal = new Literal(text.slice(0, length));
    const bytes = Buffer.from(`xx${text.slice(0, length)}`);
    for (let at = 0; at < bytes.length; at++) {
      assert.equal(literal.standsAt(viewOf(bytes), at, bytes.length), at === 2, `${length} at ${at}`);
    }
    assert.equal(literal.standsAt(viewOf(bytes), 2, bytes.length - 1), false, `${length}, beyond the end`);
  }
});

test("Literal.standsAt() is false when any one byte differs", () => {
  for (const length of lengths) {
    const literal = new Literal(text.slice(0, length));
    for (let changed = 0; changed < length; changed++) {
      const bytes = Buffer.from(text);
      bytes[changed] = 0x58;
      assert.equal(literal.standsAt(viewOf(bytes), 0, bytes.length), false, `byte ${changed} of ${length}`);
    }
  }
});
