import assert from "node:assert/strict";
import { test } from "node:test";

import { parseExact } from "../../src/console/exact-json.ts";
import { type Description, readOperations } from "../../src/console/reference.ts";
import { describeApi, descriptionJson } from "../../src/openapi/document.ts";

const description = parseExact(
  descriptionJson(describeApi({ baseUrl: undefined, basePath: "/v1", stagingBaseUrl: undefined })),
) as Description; // What the service publishes.

test("readOperations() lists the operations of the service's own description", () => {
  const operations = readOperations(description).map(({ method, path, deprecated }) => [method, path, deprecated === true]);
  assert.deepEqual(operations, [
    ["GET", "/pets", false],
    ["POST", "/pets", false],
    ["GET", "/pets/{petId}", true],
    ["GET", "/limits", false],
  ]);
});

test("readOperations() returns for each parameter, member and response what the description says", () => {
  const [list, create] = readOperations(description);
  const limit = list?.tables["Parameters"]?.find(({ name }) => name === "limit");
  assert.equal(limit?.note, "query, integer, 1 to 100, default 20");
  const members = create?.tables["Content"]?.map(({ name, note }) => [name, note]);
  assert.deepEqual(members, [
    ["name", "required, string, at most 255 characters"],
    ["categoryId", "required, integer, -9223372036854775808 to 9223372036854775807"],
    ["status", "available | pending | sold, default available"],
  ]);
  for (const { tables } of readOperations(description)) {
    assert.ok(tables["Responses"]?.every(({ name, text }) => /^[1-5][0-9X]{2}$/.test(name) && text));
  }
});
