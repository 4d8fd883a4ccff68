/**
 * Goal: `readMembers` finds the members that a reader of JSON finds, each with its own text.
 * Method: objects are put together from random members, so that names and texts are known, and read again. Huge ones show
 * that neither the stack nor the time limits it.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeUtf8, parseJson, readMembers } from "../../src/pets/json-members.ts";
import { seeded } from "../support/seeded-random.ts";
import { randomJsonText, randomName } from "./json-texts.ts";

test("readMembers() finds each member of a random object", seeded((random) => {
  for (let count = 0; count < 4000; count += 1) {
    const written = random.times(random.integer(0, 6), () => [randomName(random), randomJsonText(random)] as const);
    const text = ` {${written.map(([name, value]) => ` ${name} :${value}`).join(",")}} `;
    const expected = written.map(([name, value]) => ({ name: JSON.parse(name) as string, text: value }));
    assert.deepEqual(readMembers(text), expected, text);
  }
}));

test("decodeUtf8() refuses exactly the bytes that are not UTF-8", seeded((random) => {
  const pool = Buffer.from("226180bfc0c3a9e282aceda0eff09f98f4f5", "hex");
  for (let count = 0; count < 4000; count += 1) {
    const bytes = Buffer.from([0x22, ...random.times(random.integer(0, 5), () => random.pick(pool))]);
    // A decoder that replaces gives back the same bytes only if there is nothing to replace.
    const isUtf8 = Buffer.from(bytes.toString("utf8")).equals(bytes);
    assert.equal(decodeUtf8(bytes), isUtf8 ? bytes.toString("utf8") : undefined, bytes.toString("hex"));
  }
}));

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
