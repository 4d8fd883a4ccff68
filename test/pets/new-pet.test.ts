import assert from "node:assert/strict";
import { test } from "node:test";

import { readNewPet, readPetChange } from "../../src/pets/new-pet.ts";
import type { NewPet } from "../../src/pets/pet.ts";
import { seeded } from "../support/seeded-random.ts";

/** The NewPet that the text is. */
function accepted(text: string): NewPet {
  const reading = readNewPet(Buffer.from(text));
  return reading.kind === "valid" ? reading.value : assert.fail(`${text}: ${reading.message}`);
}

/** Why the text is no NewPet; without the opening if members are at fault. */
function refusal(text: string): string {
  const reading = readNewPet(Buffer.from(text));
  assert.equal(reading.kind, "invalid", text);
  return reading.message.replace(/^The body is not a valid NewPet: /, "");
}

function withName(name: string): string {
  return `{"name":${JSON.stringify(name)},"categoryId":5}`;
}

function withCategoryId(categoryId: string): string {
  return `{"name":"Rex","categoryId":${categoryId}}`;
}

test("readNewPet() accepts a NewPet with every member", () => {
  for (const status of ["available", "pending", "sold"] as const) {
    const newPet = accepted(`{"status":"${status}","categoryId":-9223372036854775808,"name":"Rex"}`);
    assert.deepEqual(newPet, { name: "Rex", categoryId: -(2n ** 63n), status });
  }
  assert.deepEqual(accepted(withCategoryId("5.0")), { name: "Rex", categoryId: 5n, status: "available" });
});

test("readNewPet() accepts a name of 1 to 255 characters, counted as code points", () => {
  for (const character of ["a", "é", "名", "😀"]) {
    for (const count of [1, 254, 255]) {
      assert.equal(accepted(withName(character.repeat(count))).name, character.repeat(count));
    }
    for (const count of [0, 256, 257]) {
      const message = `"name" must have 1 to 255 characters, received ${count}.`;
      assert.equal(refusal(withName(character.repeat(count))), message);
    }
  }
});

test("readNewPet() keeps a name exactly as sent, without trimming or normalising", () => {
  for (const name of [" Rex ", "e\u0301", "\u00e9", "\u202eRex", "a\u0001b", "\ufeffRex", "\u00a0x\u2003", "ﬁ", '"\\']) {
    assert.equal(accepted(withName(name)).name, name);
  }
});

test("readNewPet() refuses a name of one character exactly if it is White_Space, a surrogate or U+0000", () => {
  // PropList.txt of Unicode: 25 code points, fixed since version 6.3.
  const whiteSpace = new Set([
    0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0x85, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006,
    0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
  ]);
  // Above U+FFFF there is none of them: a sample is enough.
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint += codePoint < 0x10000 ? 1 : 257) {
    const name = String.fromCodePoint(codePoint);
    const { kind } = readNewPet(Buffer.from(withName(name)));
    const isRefused = whiteSpace.has(codePoint) || codePoint === 0 || (codePoint >= 0xd800 && codePoint <= 0xdfff);
    // assert.equal() would need a message each time: making so many takes longer than the test.
    if ((kind === "invalid") !== isRefused) {
      assert.fail(`U+${codePoint.toString(16)} is ${kind}`);
    }
  }
});

const int64 = '"categoryId" must be an integer from -9223372036854775808 to 9223372036854775807, received another number.';
const surrogate = '"name" must be well-formed Unicode, received a lone surrogate.';
const refusals: readonly (readonly [text: string, message: string])[] = [
  [withName(" \t\r\n\u0085\u3000"), '"name" must not be white space only.'],
  [withName("a\0b"), '"name" must not contain U+0000.'],
  ['{"name":"\\udc00\\ud800","categoryId":5}', surrogate],
  ['{"name":"\\ud83d\\ud83d\\ude00","categoryId":5}', surrogate],
  [withCategoryId("9223372036854775808"), int64],
  [withCategoryId("-9223372036854775809"), int64],
  [withCategoryId("5.5"), int64],
  ['{"categoryId":5}', '"name" is missing.'],
  ["{}", '"name" is missing; "categoryId" is missing.'],
  ...["", "Sold", "sold ", "so\\u0000ld"].map((status) => [
    `{"name":"Rex","categoryId":5,"status":"${status}"}`,
    `"status" must be one of "available", "pending", "sold", received "${status}".`,
  ] as const),
  ...["id", "Name", "__proto__", "constructor", "", "name "].map((name) => [
    `{"name":"Rex","categoryId":5,"${name}":1}`,
    `"${name}" is not a property of NewPet.`,
  ] as const),
  ['{"name":"Rex","n\\u0061me":"Tom","categoryId":5}', '"name" is repeated.'],
  ['{"name":"Rex","status":"sold","categoryId":5,"status":"sold"}', '"status" is repeated.'],
  [
    '{"name":"","status":"gone","id":1,"tag":null,"tag":2}',
    '"tag" is repeated; "name" must have 1 to 255 characters, received 0; "categoryId" is missing; ' +
      '"status" must be one of "available", "pending", "sold", received "gone"; "id" is not a property of NewPet.',
  ],
  ...[["null", "null"], ["[]", "an array"], ['"x"', "a string"], ["5", "a number"], ["true", "a boolean"]].map(
    ([text = "", kind]) => [text, `The body must be an object (NewPet), received ${kind}.`] as const,
  ),
];

test("readNewPet() names every member at fault, and why", () => {
  for (const [text, message] of refusals) {
    assert.equal(refusal(text), message, text);
  }
});

test("readNewPet() names the first ten members at fault, and counts the others", () => {
  const withUnknown = (count: number) =>
    refusal(`{"name":"Rex","categoryId":5${Array.from({ length: count }, (_, index) => `,"u${index}":0`).join("")}}`);
  const named = (count: number) =>
    Array.from({ length: count }, (_, index) => `"u${index}" is not a property of NewPet`).join("; ");
  assert.equal(withUnknown(9), `${named(9)}.`);
  assert.equal(withUnknown(10), `${named(10)}.`);
  assert.equal(withUnknown(11), `${named(10)}; and 1 more.`);
  assert.equal(withUnknown(1000), `${named(10)}; and 990 more.`);
});

test("readNewPet() keeps every message bounded, on one line and well-formed", seeded((random) => {
  const characters = ["a", '"', "\\", "\n", "\0", "\u0085", "\u202e", "\u2028", "\ud83d", "\ude00", "😀", "\u{e0001}"];
  const anyText = () => random.times(random.integer(0, 200), () => random.pick(characters)).join("");
  for (let count = 0; count < 500; count += 1) {
    const names = random.times(random.integer(1, 15), anyText);
    const members = [...names, ...names.slice(0, 3)].map((name) => `${JSON.stringify(name)}:null`);
    const known = `"name":${JSON.stringify(anyText())},"status":${JSON.stringify(anyText())}`;
    const message = refusal(`{${members.join(",")},${known}}`);
    // Ten names of 64 characters, the longest escape (`\udb40\udc01`) for each, and the longest problem.
    assert.ok(message.length < 10 * (64 * 12 + 5 + 64 * 12 + 100), `${message.length} long`);
    assert.doesNotMatch(message, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
  }
}));

test("readNewPet() says that content is not JSON or not UTF-8 in words that no release of Node changes", () => {
  for (const text of ["", " ", "\ufeff\r\n"]) {
    assert.deepEqual(readNewPet(Buffer.from(text)), { kind: "malformed", message: "The body is empty." }, text);
  }
  for (const text of ["{", '{"name":    ', "nul", "[1,]", "\ufeff\ufeff{}", '{"secret-looking":x}', "[".repeat(16_384)]) {
    assert.deepEqual(
      readNewPet(Buffer.from(text)),
      { kind: "malformed", message: "The body is not well-formed JSON." },
      text,
    );
  }
  for (const hex of ["80", "22e282", "7b22ff223a317d", "fffe7b007d00"]) {
    assert.deepEqual(readNewPet(Buffer.from(hex, "hex")), { kind: "malformed", message: "The body is not UTF-8." }, hex);
  }
});

test("readNewPet() never repeats a key, sent as a name or as a value", () => {
  const key = `as_${"0aZ".repeat(14)}9`;
  const texts = [
    `{"${key}":1}`, `{"${key}":1,"${key}":2}`, `{"as\\u005f${key.slice(3)}":1}`, `{"status":"${key}"}`, `{"name":["${key}"]}`,
    `"${key}"`, key, `{"name":${key}}`,
  ];
  for (const text of texts) {
    const reading = readNewPet(Buffer.from(text));
    assert.ok(reading.kind !== "valid");
    assert.doesNotMatch(reading.message, /0aZ0aZ/, text);
  }
  assert.match(refusal(`{"${key}":1}`), /"as_…" is not a property of NewPet/);
});

test("readPetChange() reads each member as readNewPet() does, and sets no other", () => {
  const members = { name: '"\\u00d6 \\ud83d\\udc15"', categoryId: "-9223372036854775808", status: '"sold"' };
  const whole: Record<string, unknown> = { name: "Ö 🐕", categoryId: -(2n ** 63n), status: "sold" };
  const names = Object.keys(members) as (keyof typeof members)[];
  for (let set = 1; set < 1 << names.length; set++) {
    const named = names.filter((_, index) => (set & (1 << index)) !== 0);
    const content = `{${named.map((name) => `"${name}":${members[name]}`).reverse().join()}}`;
    const value = Object.fromEntries(named.map((name) => [name, whole[name]]));
    assert.deepEqual(readPetChange(Buffer.from(content)), { kind: "valid", value }, content);
  }
  assert.deepEqual(readPetChange(Buffer.from('{"categoryId":5.0}')), { kind: "valid", value: { categoryId: 5n } });
});

test("readPetChange() refuses what readNewPet() refuses of a member, in the same words, and what sets none", () => {
  for (const member of [
    '"name":""', '"name":null', '"name":" "', '"name":"\\ud800"', '"name":5', '"categoryId":5.5', '"categoryId":"5"', '"categoryId":null',
    '"categoryId":9223372036854775808', '"status":"lost"', '"status":null', '"status":"removed"', '"id":1', '"colour":"red"',
  ]) {
    const reading = readPetChange(Buffer.from(`{${member}}`));
    const others = ['"name":"Rex"', '"categoryId":5'].filter((other) => other.split(":")[0] !== member.split(":")[0]);
    const expected = readNewPet(Buffer.from(`{${[...others, member].join()}}`));
    assert.ok(reading.kind === "invalid" && expected.kind === "invalid", member);
    assert.equal(reading.message, expected.message.replaceAll("NewPet", "PetChange"), member);
  }
  const message = 'The body is not a valid PetChange: "status" is missing, as is every other property that can change: there must be one.';
  assert.deepEqual(readPetChange(Buffer.from(" { } ")), { kind: "invalid", message });
  const repeated = readPetChange(Buffer.from('{"name":"Rex","name":"Max"}'));
  assert.ok(repeated.kind === "invalid" && repeated.message.endsWith('"name" is repeated.'));
});
