import assert from "node:assert/strict";
import { test } from "node:test";

import { readPetId } from "../../src/pets/pet.ts";

test("readPetId() reads the plain decimal of a positive safe integer", () => {
  for (const id of [1, 2, 9, 10, 1_000_000, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER]) {
    assert.equal(readPetId(String(id)), id);
  }
});

test("readPetId() returns undefined for everything else", () => {
  const segments = [
    "", "0", "00", "01", "-1", "+1", "-0", "1.0", "1e0", "0x1", " 1", "1 ", "1\n", "%31", "１", "x", "1x", "1/", "NaN",
    "9007199254740992", "9007199254740993", "9999999999999999", "10000000000000000", "9223372036854775807",
    "9".repeat(8000),
  ];
  for (const segment of segments) {
    assert.equal(readPetId(segment), undefined, JSON.stringify(segment));
  }
});
