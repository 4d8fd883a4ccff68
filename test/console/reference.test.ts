import assert from "node:assert/strict";
import { test } from "node:test";

import { examples } from "../../src/console/examples.ts";
import { parseExact } from "../../src/console/exact-json.ts";
import { type Description, type Listed, readReference } from "../../src/console/reference.ts";
import { describeApi } from "../../src/openapi/document.ts";
import { limitDefault } from "../../src/pets/list-query.ts";

const published = describeApi({ baseUrl: undefined, basePath: "/v1", stagingBaseUrl: undefined });
const { shared, operations, pet } = readReference(parseExact(JSON.stringify(published)) as Description); // What is published.

function namesOf(members: readonly Listed[], title: Listed["title"]): readonly string[] {
  return members.filter((one) => one.title === title).map(({ name }) => name);
}

test("readReference() lists the operations of the service's own description", () => {
  assert.deepEqual(operations.map(({ method, path, deprecated }) => [method, path, deprecated === true]), [
    ["GET", "/pets", false],
    ["POST", "/pets", false],
    ["GET", "/pets/{petId}", true],
    ["PATCH", "/pets/{petId}", false],
    ["DELETE", "/pets/{petId}", false],
    ["GET", "/limits", false],
  ]);
});

test("readReference() says once what every operation has, and of each operation only its own", () => {
  assert.deepEqual(namesOf(shared, "Parameters"), ["Authorization"]);
  assert.ok(namesOf(shared, "Header fields").includes("X-RateLimit-Reset"));
  assert.ok(namesOf(shared, "Errors").includes("rate_limited"));
  for (const { members } of operations) {
    assert.ok(members.every(({ name, text }) => !shared.some((one) => one.name === name && one.text === text)));
  }
  const [list, create, get] = operations;
  assert.deepEqual(namesOf(list?.members ?? [], "Parameters"), ["limit", "status", "after"]);
  assert.equal(list?.members.find(({ name }) => name === "limit")?.note, "query, integer, 1 to 100, default 20");
  assert.ok(namesOf(create?.members ?? [], "Errors").includes("invalid_body"));
  assert.deepEqual([list, get].map((one) => namesOf(one?.members ?? [], "Header fields").includes("Link")), [true, true]);
});

test("the description names the page size first, with the service's own, which the console takes", () => {
  const [pageSize] = operations[0]?.parameters ?? [];
  assert.deepEqual([pageSize?.name, pageSize?.schema?.default], ["limit", String(limitDefault)]);
});

test("readReference() loses no error and no field of the description", () => {
  const codes = new Set([shared, ...operations.map(({ members }) => members)].flatMap((members) => namesOf(members, "Errors")));
  const text = JSON.stringify(published.paths) + JSON.stringify(published.components["responses"]);
  for (const [, code] of text.matchAll(/"value":\{"code":"(\w+)"/g)) {
    assert.ok(codes.has(code ?? ""), code);
  }
  assert.ok(codes.size > 15);
});

test("readReference() reads the animal with what adding one needs, and examples as they are published", () => {
  assert.deepEqual(pet.members.map(({ name, note }) => [name, note.replace(/, -?\d.*/, "")]), [
    ["id", "integer"],
    ["name", "required, string"],
    ["categoryId", "required, integer"],
    ["status", "available | pending | sold, default available"],
  ]);
  assert.equal(pet.example, JSON.stringify({ id: 1, name: "Rex", categoryId: 5, status: "available" }));
});

test("examples has one for each operation", () => {
  assert.deepEqual(Object.keys(examples), operations.map(({ operationId }) => operationId));
});
