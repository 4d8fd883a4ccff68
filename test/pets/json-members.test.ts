import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeUtf8, parseJson, readMembers } from "../../src/pets/json-members.ts";

function textsOf(text: string): readonly (readonly [name: string, text: string])[] {
  return readMembers(text).map(({ name, text: value }) => [name, value]);
}

function namesOf(text: string): readonly string[] {
  return readMembers(text).map(({ name }) => name);
}

test("parseJson() and readMembers() read deeply nested text without overflowing the stack", () => {
  for (const [opening, closing] of [["[", "]"], ['{"a":', "}"]] as const) {
    for (const depth of [Math.floor(16_384 / opening.length), 500_000]) {
      assert.equal(parseJson(opening.repeat(depth)), undefined);
      const text = `{"a":${opening.repeat(depth)}1${closing.repeat(depth)},"b":2}`;
      assert.ok(parseJson(text) !== undefined);
      assert.deepEqual(textsOf(text).map(([name, value]) => [name, value.length]), [["a", text.length - 12], ["b", 1]]);
    }
  }
});

test("readMembers() takes linear time: a million characters of each kind are read at once", () => {
  const count = 1_000_000;
  const lengths = (text: string): readonly number[] => textsOf(text).map(([, value]) => value.length);
  assert.deepEqual(lengths(`{"a":"${'\\"'.repeat(count)}"}`), [2 + 2 * count]);
  assert.deepEqual(lengths(`{"a":-${"9".repeat(count)}}`), [1 + count]);
  assert.deepEqual(lengths(`{${" ".repeat(count)}"a":1}`), [1]);
  assert.equal(namesOf(`{${'"a":1,"b":1,'.repeat(count / 8)}"c":1}`).length, count / 4 + 1);
});

test("parseJson() returns undefined exactly if the text is not JSON", () => {
  for (const text of ["", "{", "nul", "+1", "01", "1.", "NaN", "[1,]", "{,}", "\ufeff1", '"a\nb"', '"\\x"', "{} x"]) {
    assert.equal(parseJson(text), undefined, JSON.stringify(text));
  }
  for (const text of ["null", "0", '""', "[]", " {} "]) {
    assert.deepEqual(parseJson(text), { value: JSON.parse(text) as unknown });
  }
});

test("decodeUtf8() drops one byte order mark and no more", () => {
  assert.equal(decodeUtf8(Buffer.from("\ufeff{}")), "{}");
  assert.equal(decodeUtf8(Buffer.from("\ufeff\ufeff{}")), "\ufeff{}");
  assert.equal(decodeUtf8(Buffer.from('"\ufeff"')), '"\ufeff"');
  assert.equal(decodeUtf8(new Uint8Array()), "");
});

test("decodeUtf8() keeps nothing from one content to the next", () => {
  assert.equal(decodeUtf8(Buffer.from("22e282", "hex")), undefined);
  assert.equal(decodeUtf8(Buffer.from("ac22", "hex")), undefined);
  assert.equal(decodeUtf8(Buffer.from("\ufeff1")), "1");
  assert.equal(decodeUtf8(Buffer.from("\ufeff1")), "1");
});

test("decodeUtf8() reads only its own part of a shared memory", () => {
  const memory = Buffer.from("xx[1]yy");
  assert.equal(decodeUtf8(memory.subarray(2, 5)), "[1]");
});
