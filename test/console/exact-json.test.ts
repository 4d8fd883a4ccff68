import assert from "node:assert/strict";
import { test } from "node:test";

import { parseExact, parseWholeNumber, toJson } from "../../src/console/exact-json.ts";

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

test("toJson() writes the category with all its digits, and any name", () => {
  const members = { name: 'a "1" \u202e', categoryId: "9223372036854775807", status: "sold" };
  assert.equal(toJson(members), '{"name":"a \\"1\\" \u202e","categoryId":9223372036854775807,"status":"sold"}');
  assert.deepEqual(parseExact(toJson(members)), members);
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
