import assert from "node:assert/strict";
import { test } from "node:test";

import { bearerToken } from "../../src/keys/keyring.ts";

test("bearerToken() takes the token whatever the case of the scheme (RFC 9110, 11.1; RFC 6750, 2.1)", () => {
  for (const field of ["Bearer aZ09-._~+/==", "bEaReR aZ09-._~+/==", "BEARER    aZ09-._~+/=="]) {
    assert.equal(bearerToken(field), "aZ09-._~+/==", field);
  }
});

test("bearerToken() finds no bearer credentials in other schemes, also if they begin with Bearer", () => {
  const fields = [undefined, "", " Bearer abc", "Basic YTpi", "Bear abc", 'Digest username="Bearer abc"', "as_abc"];
  for (const field of [...fields, ...Array.from("!#$%&'*+-.^_`|~09azAZ", (letter) => `Bearer${letter} abc`)]) {
    assert.equal(bearerToken(field), undefined, field);
  }
});

test('bearerToken() returns "" for an ill-formed token: the client has sent a wrong key', () => {
  const rests = ["", " ", "\tabc", ",abc", " abc ", " abc def", " abc, Bearer def", ' "abc"', " =", " a=b", " ab\u00e9", " abc\n", " \u0000"];
  for (const rest of rests) {
    assert.equal(bearerToken(`Bearer${rest}`), "", JSON.stringify(rest));
  }
});
