import assert from "node:assert/strict";
import { test } from "node:test";

import { jsonText, layOutJson, parseExact, parseWholeNumber } from "../../src/console/exact-json.ts";

test("parseExact() keeps every digit of an int64", () => {
  for (const digits of ["9223372036854775807", "-9223372036854775808", "9007199254740993", "0", "-1"]) {
    const [pet] = parseExact(`[{"id":1,"name":"Rex","categoryId":${digits}}]`) as { categoryId: string }[];
    assert.equal(pet?.categoryId, digits);
  }
});

test("parseExact() changes no digit inside a string, whatever its escapes", () => {
  for (const name of ["12", "a \"34\" b", "\\", "\\\" 5", "{\"id\":6}", "", "\u202e7"]) {
    assert.deepEqual(parseExact(`{"name":${JSON.stringify(name)},"n":[1,-2.5e3]}`), { name, n: ["1", "-2.5e3"] });
  }
});

test("parseExact() throws on text that is not JSON", () => {
  for (const text of ["", "<html>", "{", "1 2", '"'] ) {
    assert.throws(() => parseExact(text), SyntaxError);
  }
});

test("layOutJson() lays out as JSON.stringify does, and leaves every string and number as it stands", () => {
  const values = [[], {}, [[]], [1, [2]], { a: {}, b: [], c: null, d: true }, "x", 0, [{ name: 'a"{[:,]}\\', n: -1.5e-7 }]];
  for (const value of values) {
    const text = layOutJson(JSON.stringify(value)).map((piece) => piece.text).join("");
    assert.equal(text, JSON.stringify(value, undefined, 2));
  }
  const exact = String.raw`{"name":"\u202e\/","categoryId":9223372036854775807,"n":1.50E+02}`;
  const pieces = layOutJson(exact).filter(({ kind }) => kind !== "mark").map(({ kind, text }) => [kind, text]);
  assert.deepEqual(pieces, [
    ["name", '"name"'],
    ["string", String.raw`"\u202e\/"`],
    ["name", '"categoryId"'],
    ["number", "9223372036854775807"],
    ["name", '"n"'],
    ["number", "1.50E+02"],
  ]);
  assert.deepEqual(layOutJson("[false]").find(({ text }) => text === "false"), { kind: "number", text: "false" });
  assert.throws(() => layOutJson("<html>"), SyntaxError);
});

test("layOutJson() makes of JSON that is nested 5,000 levels deep no more than a hundred times its length", () => {
  const nested = "[".repeat(5_000) + "1" + "]".repeat(5_000);
  assert.ok(layOutJson(nested).reduce((length, { text }) => length + text.length, 0) < 100 * nested.length);
});

test("parseWholeNumber() takes a whole number to the last digit, and nothing else", () => {
  const taken = [["7", "7"], [" 9223372036854775807 ", "9223372036854775807"], ["-0", "0"], ["+5", "5"], ["007", "7"]] as const;
  for (const [text, digits] of taken) {
    assert.equal(parseWholeNumber(text), digits);
  }
  for (const text of ["", " ", "7.0", "1e3", "0x10", "7a", "--1", "१"]) {
    assert.equal(parseWholeNumber(text), undefined, text);
  }
});

test("jsonText() escapes characters that would not be seen", () => {
  assert.equal(jsonText('R"\u202ex'), String.raw`"R\"\u202ex"`);
});
