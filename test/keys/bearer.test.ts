import assert from "node:assert/strict";
import { test } from "node:test";

import { bearerToken } from "../../src/keys/bearer.ts";

const taken: readonly (readonly [field: string, token: string])[] = [
  ["Bearer abc", "abc"],
  ["bearer abc", "abc"],
  ["BEARER abc", "abc"],
  ["bEaReR abc", "abc"],
  ["Bearer    abc", "abc"],
  ["Bearer aZ09-._~+/==", "aZ09-._~+/=="],
];

for (const [field, token] of taken) {
  test(`bearerToken() takes the token of ${JSON.stringify(field)} (RFC 9110, 11.1; RFC 6750, 2.1)`, () => {
    assert.equal(bearerToken(field), token);
  });
}

const otherSchemes: readonly (string | undefined)[] = [
  undefined,
  "",
  " Bearer abc",
  "Basic YTpi",
  "Bear abc",
  "Bearers abc",
  "Bearer-2 abc",
  "Bearer~ abc",
  "Digest username=\"Bearer abc\"",
  "as_abc",
];

for (const field of otherSchemes) {
  test(`bearerToken() finds no bearer credentials in ${JSON.stringify(field)}`, () => {
    assert.equal(bearerToken(field), undefined);
  });
}

test("bearerToken() finds no credentials if the scheme only begins with Bearer", () => {
  for (const letter of "!#$%&'*+-.^_`|~09azAZ") {
    assert.equal(bearerToken(`Bearer${letter} abc`), undefined, letter);
  }
});

const illFormed: readonly string[] = [
  "Bearer",
  "Bearer ",
  "Bearer\tabc",
  "Bearer,abc",
  "Bearer abc ",
  "Bearer abc def",
  "Bearer abc, Bearer def",
  "Bearer \"abc\"",
  "Bearer =",
  "Bearer a=b",
  "Bearer ab\u00e9",
  "Bearer abc\n",
  "Bearer \u0000",
];

for (const field of illFormed) {
  test(`bearerToken() returns "" for ${JSON.stringify(field)}: the client has sent a wrong key`, () => {
    assert.equal(bearerToken(field), "");
  });
}
