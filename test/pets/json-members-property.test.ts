/**
 * Goal: `readMembers` finds the members that a reader of JSON finds, each with its own text.
 * Method: objects are put together from random members, so that names and texts are known, and read again.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeUtf8, readMembers } from "../../src/pets/json-members.ts";
import { seeded } from "../support/seeded-random.ts";
import { randomJsonText, randomName, randomNumberText } from "./json-texts.ts";

test("readMembers() finds each member of a random object", seeded((random) => {
  for (let count = 0; count < 4000; count += 1) {
    const written = random.times(random.integer(0, 6), () => [randomName(random), randomJsonText(random)] as const);
    const text = ` {${written.map(([name, value]) => ` ${name} :${value}`).join(",")}} `;
    const expected = written.map(([name, value]) => ({ name: JSON.parse(name) as string, text: value }));
    assert.deepEqual(readMembers(text), expected, text);
  }
}));

test("readMembers() keeps a number as it is written", seeded((random) => {
  for (let count = 0; count < 1000; count += 1) {
    const number = randomNumberText(random);
    assert.deepEqual(readMembers(`{"a": ${number} }`).map(({ text }) => text.trim()), [number]);
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
