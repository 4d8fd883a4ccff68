import assert from "node:assert/strict";
import { test } from "node:test";

import { JsonNumber, JsonObject, JsonSyntaxError, decodeJson, readJson } from "../../src/pets/json.ts";
import type { JsonValue } from "../../src/pets/json.ts";

function readObject(text: string): JsonObject {
  const value = readJson(text);
  assert.ok(value instanceof JsonObject);
  return value;
}

function syntaxError(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof JsonSyntaxError, String(error));
    return error.message;
  }
  return assert.fail("no error");
}

test("readJson() reads a NewPet", () => {
  const members = readObject('{"name":"Rex","categoryId":5,"status":"sold"}').members;
  assert.deepEqual([...members.keys()], ["name", "categoryId", "status"]);
  assert.equal(members.get("name"), "Rex");
  assert.deepEqual(members.get("categoryId"), new JsonNumber("5"));
  assert.equal(members.get("status"), "sold");
});

test("readJson() keeps the digits that a double would lose", () => {
  for (const text of ["9007199254740993", "9223372036854775807", "-9223372036854775808", "1e999999999", "-0"]) {
    assert.deepEqual(readJson(text), new JsonNumber(text));
  }
});

test("readJson() keeps the first value of a repeated member and tells its name once", () => {
  const object = readObject('{"a":1,"b":2,"a":3,"c":4,"a":5,"c":null}');
  assert.deepEqual([...object.members].map(([name, value]) => [name, value instanceof JsonNumber && value.text]), [
    ["a", "1"],
    ["b", "2"],
    ["c", "4"],
  ]);
  assert.deepEqual(object.repeatedNames, ["a", "c"]);
});

test("readJson() knows a repeated member also when one is written with escapes", () => {
  assert.deepEqual(readObject('{"name":1,"n\\u0061me":2}').repeatedNames, ["name"]);
  assert.deepEqual(readObject('{"\\ud83d\\ude00":1,"😀":2}').repeatedNames, ["😀"]);
  assert.deepEqual(readObject('{"name":1,"Name":2,"name ":3}').repeatedNames, []);
});

test("readJson() tells repeated members of each object by itself", () => {
  const outer = readObject('{"a":{"a":1,"b":{"b":1}},"b":[{"a":1},{"a":1,"a":2}]}');
  assert.deepEqual(outer.repeatedNames, []);
  const items = outer.members.get("b");
  assert.ok(Array.isArray(items));
  assert.deepEqual(items.map((item: JsonValue) => item instanceof JsonObject && item.repeatedNames), [[], ["a"]]);
});

test("readJson() takes __proto__ for a member like any other", () => {
  const object = readObject('{"__proto__":1,"__proto__":2}');
  assert.deepEqual(object.members.get("__proto__"), new JsonNumber("1"));
  assert.deepEqual(object.repeatedNames, ["__proto__"]);
});

test("readJson() leaves lone surrogates and U+0000 to the validator", () => {
  assert.equal(readJson('"\\ud800"'), "\ud800");
  assert.equal(readJson('"\udc00x"'), "\udc00x");
  assert.equal(readJson('"\\ude00\\ud83d"'), "\ude00\ud83d");
  assert.equal(readJson('"\\u0000"'), "\0");
});

test("readJson() says what it expected, where, and what stood there", () => {
  const rows: [text: string, message: string][] = [
    ["", "expected a value at position 0, received the end"],
    ['{"name":    ', "expected a value at position 12, received the end"],
    ["[1,]", 'expected a value at position 3, received "]"'],
    ["nul", 'expected a value at position 0, received "n"'],
    ["+1", 'expected a value at position 0, received "+"'],
    ["NaN", 'expected a value at position 0, received "N"'],
    ["-", "expected a digit at position 1, received the end"],
    ["1.", "expected a digit at position 2, received the end"],
    ["1e+x", 'expected a digit at position 3, received "x"'],
    ["01", 'expected the end at position 1, received "1"'],
    ["{} x", 'expected the end at position 3, received "x"'],
    ["\ufeff1", 'expected a value at position 0, received "\\ufeff"'],
    ["[1 2]", 'expected "," or "]" at position 3, received "2"'],
    ['{"a":1;', 'expected "," or "}" at position 6, received ";"'],
    ['{"a" 1}', 'expected ":" at position 5, received "1"'],
    ["{,}", 'expected a member name in quotation marks or "}" at position 1, received ","'],
    ['{"a":1,}', 'expected a member name in quotation marks at position 7, received "}"'],
    ['"abc', "expected a closing quotation mark at position 4, received the end"],
    ['"a\nb"', 'expected control characters to be escaped at position 2, received "\\n"'],
    ['"\\x"', 'expected one of "\\/bfnrtu after a backslash at position 2, received "x"'],
    ['"\\', 'expected one of "\\/bfnrtu after a backslash at position 2, received the end'],
    ['"\\u12G4"', 'expected a hexadecimal digit at position 5, received "G"'],
    ["[😀", 'expected a value at position 1, received "😀"'],
    ["[\ud800", 'expected a value at position 1, received "\\ud800"'],
  ];
  for (const [text, message] of rows) {
    assert.equal(syntaxError(() => readJson(text)), `Cannot read JSON: ${message}`, JSON.stringify(text));
  }
});

test("readJson() cannot be made to overflow the stack by what is never closed", () => {
  for (const [opening, depth] of [["[", 16_384], ["[", 1_000_000], ['{"a":', 1_000_000]] as const) {
    const message = syntaxError(() => readJson(opening.repeat(depth)));
    assert.match(message, new RegExp(`at position ${opening.length * depth}, received the end$`));
  }
});

test("readJson() reads a million arrays and objects in one another", () => {
  const depth = 500_000;
  let value = readJson(`${'[{"a":'.repeat(depth)}"core"${"}]".repeat(depth)}`);
  for (let level = 0; level < depth; level += 1) {
    assert.ok(Array.isArray(value));
    const object: JsonValue = value[0];
    value = object instanceof JsonObject ? object.members.get("a") ?? null : assert.fail(`no object at ${level}`);
  }
  assert.equal(value, "core");
});

test("readJson() takes linear time: large texts of every kind are read at once", () => {
  const count = 1_000_000;
  // Not assert.equal: nobody wants to read a million characters.
  assert.ok(readJson(`"${"\\n".repeat(count)}"`) === "\n".repeat(count));
  const number = readJson(`-${"9".repeat(count)}`);
  assert.ok(number instanceof JsonNumber && number.text.length === 1 + count);
  assert.equal(readJson(`${" ".repeat(count)}null${" ".repeat(count)}`), null);
  const repeats = readObject(`{${'"a":1,"b":1,'.repeat(count / 4)}"c":1}`);
  assert.deepEqual(repeats.repeatedNames, ["a", "b"]);
});

test("decodeJson() drops one byte order mark and no more", () => {
  assert.equal(decodeJson(Buffer.from("\ufeff{}")), "{}");
  assert.equal(decodeJson(Buffer.from("\ufeff\ufeff{}")), "\ufeff{}");
  assert.equal(decodeJson(Buffer.from('"\ufeff"')), '"\ufeff"');
  assert.equal(decodeJson(new Uint8Array()), "");
});

test("decodeJson() says that content is not UTF-8", () => {
  const rows = ["80", "c3", "c080", "eda080", "f4908080", "22ff22", "fffe7b007d00"];
  for (const hex of rows) {
    assert.equal(
      syntaxError(() => decodeJson(Buffer.from(hex, "hex"))),
      "Cannot read JSON: the content is not UTF-8",
      hex,
    );
  }
});

test("decodeJson() keeps nothing from one content to the next", () => {
  syntaxError(() => decodeJson(Buffer.from("22e282", "hex")));
  syntaxError(() => decodeJson(Buffer.from("ac22", "hex")));
  assert.equal(decodeJson(Buffer.from("\ufeff1")), "1");
  assert.equal(decodeJson(Buffer.from("\ufeff1")), "1");
});

test("decodeJson() reads only its own part of a shared memory", () => {
  const memory = Buffer.from("xx[1]yy");
  assert.equal(decodeJson(memory.subarray(2, 5)), "[1]");
});
