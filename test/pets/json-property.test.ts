/**
 * Goal: `readJson` and `JSON.parse` agree on what is JSON, and on its value wherever a double says it all.
 * Method: random texts, and the same texts damaged, go to both. Members repeated in an object are compared by verdict
 * only there: `JSON.parse` keeps the last, `readJson` the first and the name.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { JsonNumber, JsonObject, JsonSyntaxError, decodeJson, readJson } from "../../src/pets/json.ts";
import type { JsonValue } from "../../src/pets/json.ts";
import { seeded } from "../support/seeded-random.ts";
import { damagedText, randomJsonText, randomNumberText } from "./json-texts.ts";

const repeated = Symbol("an object with repeated members");

/** As `JSON.parse` would give it; objects with repeated members become `repeated`. */
function parsed(value: JsonValue): unknown {
  if (value instanceof JsonNumber) {
    return Number(value.text);
  }
  if (value instanceof JsonObject) {
    return value.repeatedNames.length > 0
      ? repeated
      : Object.fromEntries([...value.members].map(([name, member]) => [name, parsed(member)]));
  }
  return Array.isArray(value) ? value.map(parsed) : value;
}

/** `expected`, with `repeated` wherever `actual` has it. */
function masked(actual: unknown, expected: unknown): unknown {
  if (actual === repeated) {
    assert.equal(typeof expected, "object");
    return repeated;
  }
  if (Array.isArray(actual) && Array.isArray(expected)) {
    return expected.map((item, index) => masked(actual[index], item));
  }
  if (isObject(actual) && isObject(expected)) {
    const members = Object.entries(expected);
    return Object.fromEntries(members.map(([name, member]) => [name, masked(ownMember(actual, name), member)]));
  }
  return expected;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function ownMember(object: Record<string, unknown>, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value;
}

function verdict<Value>(read: () => Value): { value: Value } | { error: unknown } {
  try {
    return { value: read() };
  } catch (error) {
    return { error };
  }
}

/** Whether the text was JSON. */
function assertAgreement(text: string): boolean {
  const theirs = verdict(() => JSON.parse(text) as unknown);
  const ours = verdict(() => readJson(text));
  const label = JSON.stringify(text);
  if ("error" in theirs) {
    assert.ok("error" in ours, `${label} is no JSON`);
    assert.ok(ours.error instanceof JsonSyntaxError, `${label}: ${String(ours.error)}`);
    return false;
  }
  assert.ok("value" in ours, `${label} is JSON`);
  const value = parsed(ours.value);
  assert.deepStrictEqual(value, masked(value, theirs.value), label);
  return true;
}

test("readJson() agrees with JSON.parse on sound texts", seeded((random) => {
  for (let count = 0; count < 4000; count += 1) {
    assert.ok(assertAgreement(randomJsonText(random)));
  }
}));

test("readJson() agrees with JSON.parse on damaged texts", seeded((random) => {
  let soundCount = 0;
  for (let count = 0; count < 12_000; count += 1) {
    soundCount += assertAgreement(damagedText(random, randomJsonText(random))) ? 1 : 0;
  }
  assert.ok(soundCount > 200 && soundCount < 11_800, `${soundCount} of 12000 are sound`);
}));

test("readJson() agrees with JSON.parse on every beginning of a text", seeded((random) => {
  const text = `{"a":[${random.times(30, () => randomJsonText(random, 2)).join(",")}],"b":{"c":-1.5e+3}}`;
  for (let end = 0; end <= text.length; end += 1) {
    assert.equal(assertAgreement(text.slice(0, end)), end === text.length);
  }
}));

test("readJson() keeps a number as it was written", seeded((random) => {
  for (let count = 0; count < 1000; count += 1) {
    const text = randomNumberText(random);
    const value = readJson(` ${text} `);
    assert.ok(value instanceof JsonNumber);
    assert.equal(value.text, text);
  }
}));

test("decodeJson() refuses exactly the bytes that are not UTF-8", seeded((random) => {
  const pool = Buffer.from("226180bfc0c3a9e282aceda0eff09f98f4f5", "hex");
  for (let count = 0; count < 4000; count += 1) {
    const bytes = Buffer.from([0x22, ...random.times(random.integer(0, 5), () => random.pick(pool))]);
    // A decoder that replaces gives back the same bytes only where there was nothing to replace.
    const isUtf8 = Buffer.from(bytes.toString("utf8")).equals(bytes);
    const ours = verdict(() => decodeJson(bytes));
    assert.equal("value" in ours, isUtf8, bytes.toString("hex"));
    if ("value" in ours) {
      assert.equal(ours.value, bytes.toString("utf8"));
    }
  }
}));
