import assert from "node:assert/strict";
import { test } from "node:test";

import { nextQuery, readListQuery } from "../../src/pets/list-query.ts";
import type { PetQuery } from "../../src/pets/pet-store.ts";
import { seeded } from "../support/seeded-random.ts";

const defaults: PetQuery = { after: 0, limit: 20, status: undefined, categoryId: undefined };

function assertAccepted(query: string, expected: Partial<PetQuery>): void {
  assert.deepEqual(readListQuery(query), { kind: "valid", value: { ...defaults, ...expected } }, query);
}

function refusal(query: string): string {
  const validation = readListQuery(query);
  assert.equal(validation.kind, "invalid", query);
  return validation.message.replace(/^The query is not valid: /, "");
}

test("readListQuery() lists 20 animals of any status from the start if there is no query", () => {
  assertAccepted("", {});
});

test("readListQuery() accepts a limit from 1 to 100, with no sign, leading zero or fraction", () => {
  for (const limit of [1, 2, 9, 10, 99, 100]) {
    assertAccepted(`limit=${limit}`, { limit });
  }
  const signed = ["%2B5", "+5", "5+", "05", "5.0", "5.", "5e0", "0x5", "5%20", "%EF%BC%95", "5%0A", "1_0"];
  for (const text of ["0", "101", "1000", "99999999999999999999", "-1", ...signed]) {
    assert.equal(refusal(`limit=${text}`), '"limit" must be an integer from 1 to 100.', text);
  }
});

test("readListQuery() accepts exactly the three statuses", () => {
  for (const status of ["available", "pending", "sold"] as const) {
    assertAccepted(`status=${status}`, { status });
  }
  for (const text of ["Sold", "sold,pending", "sol", "solds", "null"]) {
    const message = `"status" must be one of "available", "pending", "sold", received "${text}".`;
    assert.equal(refusal(`status=${text}`), message);
  }
});

test("readListQuery() accepts an after from 0 to 2^63 - 1, also of no animal", () => {
  const rows: [text: string, after: number][] = [
    ["0", 0],
    ["1", 1],
    ["2", 2],
    ["9007199254740990", Number.MAX_SAFE_INTEGER - 1],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
    ["9007199254740992", Number.MAX_SAFE_INTEGER],
    ["999999999999999999", Number.MAX_SAFE_INTEGER],
    ["9223372036854775806", Number.MAX_SAFE_INTEGER],
    ["9223372036854775807", Number.MAX_SAFE_INTEGER],
  ];
  for (const [text, after] of rows) {
    assertAccepted(`after=${text}`, { after });
  }
  for (const text of ["9223372036854775808", "10000000000000000000", "-1", "-0", "00", "01", "+1", "1.0", "1e3", "x"]) {
    assert.equal(refusal(`after=${text}`), '"after" must be an integer from 0 to 9223372036854775807.', text);
  }
});

test("readListQuery() accepts a categoryId that is an int64, exact to the last digit, in one spelling of each", () => {
  for (const text of ["0", "1", "-1", "5", "9007199254740993", "-9223372036854775808", "9223372036854775807"]) {
    assertAccepted(`categoryId=${text}`, { categoryId: BigInt(text) });
    assertAccepted(`after=2&categoryId=${text}&limit=3&status=sold`, { after: 2, categoryId: BigInt(text), limit: 3, status: "sold" });
  }
  const texts = ["-0", "+1", "%2B1", "5.0", "5e0", "05", "-05", "--5", "5-", "0x5", "%205", "x", "9223372036854775808", "-9223372036854775809"];
  for (const text of texts) {
    const message = '"categoryId" must be an integer from -9223372036854775808 to 9223372036854775807.';
    assert.equal(refusal(`categoryId=${text}`), message, text);
  }
  assert.equal(refusal("categoryId=5&categoryId=5"), '"categoryId" is repeated.');
});

test("nextQuery() is the query with another after, which readListQuery() reads back", () => {
  for (const query of ["", "limit=1", "status=sold", "categoryId=-9223372036854775808", "after=7&categoryId=0&status=pending&limit=100"]) {
    const validation = readListQuery(query);
    assert.ok(validation.kind === "valid");
    const next = nextQuery(validation.value, 12);
    assert.match(next, /^limit=/);
    assert.deepEqual(readListQuery(next), { kind: "valid", value: { ...validation.value, after: 12 } }, next);
  }
});

test("readListQuery() names an empty parameter, with and without =", () => {
  for (const name of ["limit", "status", "categoryId", "after"]) {
    assert.equal(refusal(name), `"${name}" is empty.`);
    assert.equal(refusal(`${name}=`), `"${name}" is empty.`);
    assert.equal(refusal(`${name}&`), `"${name}" is empty.`);
  }
});

test("readListQuery() names an unknown parameter, with and without a value", () => {
  const rows: [query: string, name: string][] = [
    ["page=2", '"page"'],
    ["page", '"page"'],
    ["page=", '"page"'],
    ["=5", '""'],
    ["=", '""'],
    ["Limit=5", '"Limit"'],
    ["limit[]=5", '"limit[]"'],
    ["limit+=5", '"limit "'],
    ["?limit=5", '"?limit"'],
    ["__proto__=5", '"__proto__"'],
    ["limit;status=5", '"limit;status"'],
    ["a%22%0A%00=5", '"a\\"\\n\\u0000"'],
  ];
  for (const [query, name] of rows) {
    assert.equal(refusal(query), `${name} is not a parameter of this operation.`, query);
  }
});

test("readListQuery() names a repeated parameter, with any values and in any spelling", () => {
  for (const again of ["limit=5", "status=sold&limit=6", "%6cimit=5", "limit", "limit=x"]) {
    const query = `limit=5&${again}`;
    assert.equal(refusal(query), '"limit" is repeated.', query);
  }
  assert.equal(refusal("status=sold&status=sold"), '"status" is repeated.');
  assert.equal(refusal("after=0&after=0"), '"after" is repeated.');
  assert.equal(refusal("limit=&limit="), '"limit" is empty.');
});

test("readListQuery() names a parameter that is not percent-encoded UTF-8", () => {
  for (const text of ["%zz", "%", "%5", "5%", "%ff", "%c3", "%c0%80", "%ed%a0%80", "%f4%90%80%80"]) {
    assert.equal(refusal(`limit=${text}`), '"limit" is not percent-encoded UTF-8.', text);
    assert.equal(refusal(`limit=5&limit=${text}`), '"limit" is not percent-encoded UTF-8.', text);
  }
  for (const [text, name] of [["%zz", "%zz"], ["%", "%"], ["5%", "5%"], ["%ff", "\ufffd"], ["a%c3", "a\ufffd"]]) {
    assert.equal(refusal(`${text}=5`), `"${name}" is not percent-encoded UTF-8.`, text);
  }
});

test("readListQuery() names every parameter at fault, ten at most, and counts the others", () => {
  assert.equal(
    refusal("limit=0&status=&after=x&page=1&page=2"),
    '"status" is empty; "page" is not a parameter of this operation; "limit" must be an integer from 1 to 100; ' +
      '"after" must be an integer from 0 to 9223372036854775807.',
  );
  const unknown = (count: number) => Array.from({ length: count }, (_, index) => `u${index}`).join("&");
  assert.doesNotMatch(refusal(unknown(10)), /more/);
  assert.match(refusal(unknown(11)), /"u9" is not a parameter of this operation; and 1 more\.$/);
  assert.match(refusal(unknown(2000)), /; and 1990 more\.$/);
});

test("readListQuery() never repeats a key, sent as a name or as a value", () => {
  const key = `as_${"0aZ".repeat(14)}9`;
  for (const query of [`status=${key}`, `${key}=1`, key, `${key}=%zz`, `as%5F${key.slice(3)}%zz=1`, `status=${key}&${key}=${key}`]) {
    assert.doesNotMatch(refusal(query), /0aZ0aZ/, query);
  }
  assert.equal(refusal(`${key}=1`), '"as_…" is not a parameter of this operation.');
});

test("readListQuery() finds the pairs that URLSearchParams finds", seeded((random) => {
  const pieces = [
    "limit", "status", "categoryId", "after", "=", "=", "=", "&", "&", "&", "5", "sold", "0", "-", "+", "%6c", "%35", "%20", "x",
  ];
  let validCount = 0;
  for (let count = 0; count < 20_000; count += 1) {
    const query = random.times(random.integer(0, 9), () => random.pick(pieces)).join("");
    const pairs = [...new URLSearchParams(`&${query}`)];
    const values = new Map(pairs);
    const limit = values.get("limit") ?? "20";
    const after = values.get("after") ?? "0";
    const status = values.get("status");
    const categoryId = values.get("categoryId");
    const isValid = values.size === pairs.length
      && pairs.every(([name]) => ["limit", "status", "categoryId", "after"].includes(name))
      && /^([1-9]\d?|100)$/.test(limit) && /^(0|[1-9]\d{0,17})$/.test(after)
      && (status === undefined || status === "sold")
      && (categoryId === undefined || /^(0|-?[1-9]\d{0,17})$/.test(categoryId));
    const validation = readListQuery(query);
    const expected = isValid ? {
      ...{ after: Number(after), limit: Number(limit), status },
      categoryId: categoryId === undefined ? undefined : BigInt(categoryId),
    } : undefined;
    assert.deepEqual(validation.kind === "valid" ? validation.value : undefined, expected, query);
    validCount += isValid ? 1 : 0;
  }
  assert.ok(validCount > 500, `only ${validCount} valid`);
}));
