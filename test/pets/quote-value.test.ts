import assert from "node:assert/strict";
import { test } from "node:test";

import { quote } from "../../src/pets/faults.ts";

test("quote() leaves what a reader can see as it is", () => {
  assert.equal(quote("name"), '"name"');
  assert.equal(quote("Größe 名 😀"), '"Größe 名 😀"');
  assert.equal(quote(""), '""');
});

test("quote() escapes what would end the quotation, and what is invisible", () => {
  const rows: [text: string, quoted: string][] = [
    ['a"b\\c', '"a\\"b\\\\c"'],
    ["\n\t\0\x1f", '"\\n\\t\\u0000\\u001f"'],
    ["\x7f\x80\x9f", '"\\u007f\\u0080\\u009f"'],
    ["\u2028\u2029", '"\\u2028\\u2029"'],
    ["\u202egnp\u200b\ufeff", '"\\u202egnp\\u200b\\ufeff"'],
    ["\u{e0041}", '"\\udb40\\udc41"'],
    ["\ud800", '"\\ud800"'],
    ["\udc00\ud800", '"\\udc00\\ud800"'],
  ];
  for (const [text, quoted] of rows) {
    assert.equal(quote(text), quoted);
    assert.equal(JSON.parse(quoted), text);
  }
});

test("quote() cuts after 64 characters, counted as code points, and shows it", () => {
  for (const character of ["a", "é", "😀", "\ud800", "\n"]) {
    const escaped = quote(character).slice(1, -1);
    assert.equal(quote(character.repeat(63)), `"${escaped.repeat(63)}"`);
    assert.equal(quote(character.repeat(64)), `"${escaped.repeat(64)}"`);
    assert.equal(quote(character.repeat(65)), `"${escaped.repeat(64)}"...`);
  }
});

test("quote() masks keys, also one at which the text is cut", () => {
  const key = `as_${"0aZ".repeat(14)}9`;
  assert.equal(quote(key), '"as_…"');
  assert.equal(quote(`x${key}, ${key}`), '"xas_…, as_…"');
  assert.equal(quote(`${"x".repeat(20)}${key}`), `"${"x".repeat(20)}as_…"`);
  assert.equal(quote(`${"x".repeat(63)}${key}`), `"${"x".repeat(63)}a"...`);
});
