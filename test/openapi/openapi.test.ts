import assert from "node:assert/strict";
import { test } from "node:test";

import { errorTable } from "../../src/http/errors.ts";
import { parseBaseUrl } from "../../src/options.ts";
import { readIdempotencyKey } from "../../src/pets/idempotency-key.ts";
import { readPetChange } from "../../src/pets/new-pet.ts";
import { readPreconditions } from "../../src/pets/precondition.ts";
import { runningService } from "../support/running-service.ts";
import { everyNode, everyResponse, type Node, published, resolver } from "./description.ts";
import { faultsOf, type Schema } from "./json-schema.ts";

/** Errors that no operation can give: another path, another method. */
const codesOfNoOperation = ["route_not_found", "method_not_allowed"];

const fieldsForCallers = [
  "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "X-Request-Id", "Link", "Location",
  "Idempotent-Replayed", "Deprecation", "Sunset", "WWW-Authenticate", "ETag", "Accept-Patch",
];

function codesOf(response: Node): readonly string[] {
  const found: unknown = response["content"]?.["application/json"]?.["examples"];
  return Object.keys(found ?? {});
}

test("describeApi() is OpenAPI 3.1 of version 1.0.0 with exactly the six operations", () => {
  const description = published();
  assert.deepEqual([description["openapi"], description["info"]?.["version"]], ["3.1.0", "1.0.0"]);
  const operations = Object.entries(description["paths"] ?? {}).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => `${method} ${path} ${String(operation["operationId"])}`),
  );
  assert.deepEqual(operations, [
    "get /pets listPets",
    "post /pets createPet",
    "get /pets/{petId} getPet",
    "patch /pets/{petId} changePet",
    "delete /pets/{petId} removePet",
    "get /limits getLimits",
  ]);
});

test("describeApi() is at most 48 kB, also with the longest addresses", () => {
  const address = `https://shop.example/${"b".repeat(256 - 24)}/v1`;
  assert.equal(parseBaseUrl(address), address);
  assert.throws(() => parseBaseUrl(address.replace("b", "bb")), /at most 256 characters/);
  const text = JSON.stringify(published({ baseUrl: address, stagingBaseUrl: address }));
  assert.ok(Buffer.byteLength(text) <= 48_000, `${Buffer.byteLength(text)} bytes`);
});

test("describeApi() closes the schemas of requests and leaves those of responses open, and says so", () => {
  const description = published();
  const schemas = Object.entries(description["components"]?.["schemas"] ?? {});
  const objects = schemas.filter(([, { type }]) => String(type) === "object");
  const closed = objects.filter(([, schema]) => "additionalProperties" in schema).map(([name]) => name);
  assert.deepEqual(closed, ["NewPet", "PetChange"]);
  assert.deepEqual(objects.filter(([name]) => !closed.includes(name)).map(([name]) => name), ["Pet", "Limits", "Quota", "Error"]);
  assert.match(String(description["info"]?.["description"]), /Ignore a property that you do not know/);
});

test("the description of an embedder is as exact as the served one, and no number in it is rounded", async (context) => {
  const { service, port } = await runningService(context);
  const served = await fetch(`http://127.0.0.1:${port}/openapi.json`);
  assert.ok(JSON.stringify(service.description) === (await served.text()));
  const numbers = [...everyNode(service.description)].flatMap(([path, node]) =>
    Object.entries(node).filter(([, value]) => typeof value === "number").map(([name, value]) => [`${path}/${name}`, value] as const));
  assert.deepEqual(numbers.filter(([, value]) => !Number.isSafeInteger(value)), []);
  assert.ok(numbers.length > 10);
});

test("no example is sent with another one that it does not fit: Idempotency-Key has none, the bodies have several", () => {
  const parameters = [...everyNode(published())].filter(([, node]) => String(node["name"]) === "Idempotency-Key");
  assert.deepEqual(parameters.map(([, node]) => [node["example"], node["examples"]]), [[undefined, undefined]]);
});

test("describeApi() has only header fields that mean something to a caller", () => {
  const found = everyResponse(published()).flatMap(({ response }) => Object.keys(response["headers"] ?? {}));
  assert.deepEqual([...new Set(found)].sort(), [...fieldsForCallers].sort());
});

test("describeApi() has no extension but x-deprecated-sunset", () => {
  const names = [...everyNode(published())].flatMap(([, node]) => Object.keys(node));
  assert.deepEqual(names.filter((name) => name.startsWith("x-")), ["x-deprecated-sunset"]);
});

test("describeApi() lists every error code of an operation in a response of its status", () => {
  const responses = everyResponse(published());
  for (const [code, [status]] of Object.entries(errorTable)) {
    const carriers = responses.filter((each) => codesOf(each.response).includes(code));
    assert.equal(carriers.length === 0, codesOfNoOperation.includes(code), code);
    assert.ok(carriers.every((each) => each.status === status), code);
  }
});

test("describeApi() marks getPet as deprecated, with the date, and nothing else", () => {
  const paths = [...everyNode(published()["paths"])].filter(([, node]) => "deprecated" in node);
  assert.deepEqual(
    paths.map(([path, node]) => [path, node["deprecated"], node["x-deprecated-sunset"]]),
    [["#/~1pets~1{petId}/get", true, "2030-12-05"]],
  );
});

test("describeApi() names the servers: this service by the base address or where the API is mounted, then staging", () => {
  const table = [
    [{}, ["/v1"]],
    [{ basePath: "/shop/v1" }, ["/shop/v1"]],
    [
      { baseUrl: "https://a.test/x/v1", basePath: "/x/v1", stagingBaseUrl: "https://b.test/v1" },
      ["https://a.test/x/v1", "https://b.test/v1"],
    ],
  ] as const;
  for (const [addresses, expected] of table) {
    const servers = Object.values(published(addresses)["servers"] ?? {});
    assert.deepEqual(servers.map((server): unknown => server["url"]), expected);
    const names = ["This service", "Staging"].slice(0, expected.length);
    assert.deepEqual(servers.map((server): unknown => server["description"]), names);
  }
});

test("describeApi() allows exactly the names that the service accepts", () => {
  const description = published();
  const resolve = resolver(description);
  const table: readonly (readonly [string, boolean])[] = [
    ["", false],
    ["x", true],
    [" ", false],
    [" \t\r\n\u0085\u00a0\u2028\u3000", false],
    [" x ", true],
    ["\ufeff", true],
    ["a\nb", true],
    ["\u0000", false],
    ["a\u0000", false],
    ["🐕".repeat(254), true],
    ["🐕".repeat(255), true],
    ["🐕".repeat(256), false],
  ];
  for (const [name, isAllowed] of table) {
    const faults = faultsOf({ name, categoryId: 1 }, resolve("#/components/schemas/NewPet"), resolve);
    assert.equal(faults.length === 0, isAllowed, JSON.stringify(name));
  }
});

test("describeApi() allows exactly the changes that the service accepts", () => {
  const resolve = resolver(published());
  const values: Readonly<Record<string, readonly unknown[]>> = {
    name: ["Rex", "", " ", "x".repeat(255), "x".repeat(256), null, 5],
    categoryId: [5, 1.5, 2 ** 53, null, "5"],
    status: ["available", "pending", "sold", "removed", null],
    id: [1],
    version: [2],
    colour: ["red"],
  };
  let changes: readonly object[] = [{}];
  for (const [name, all] of Object.entries(values)) {
    changes = [...changes, ...changes.flatMap((change) => all.map((value) => ({ ...change, [name]: value })))];
  }
  const wrong = changes.filter((change) => {
    const isAllowed = faultsOf(change, resolve("#/components/schemas/PetChange"), resolve).length === 0;
    return isAllowed !== (readPetChange(Buffer.from(JSON.stringify(change))).kind === "valid");
  });
  assert.deepEqual(wrong, []);
});

test("describeApi() allows exactly the If-Match and If-None-Match that the service accepts", () => {
  const parts = [" ", "\t", ",", "*", "W/", '"', "sold", "-", "7", "0", "x", "\u007f", "\u00e9", "\u0100", '"sold"'];
  let fields = [""];
  for (let length = 0; length < 4; length += 1) {
    fields = ["", ...fields.flatMap((field) => parts.map((part) => `${field}${part}`))];
  }
  const resolve = resolver(published());
  for (const name of ["If-Match", "If-None-Match"]) {
    const schema = resolve(`#/components/parameters/${name}`)["schema"] as Schema;
    const wrong = fields.filter((field) => {
      const isAllowed = faultsOf(field, schema, resolve).length === 0;
      return isAllowed !== (readPreconditions({ [name.toLowerCase()]: field }) !== undefined);
    });
    assert.deepEqual(wrong, []);
  }
});

test("describeApi() allows exactly the Idempotency-Keys that the service accepts", () => {
  const schema: Schema = published()["components"]?.["parameters"]?.["Idempotency-Key"]?.["schema"] ?? {};
  const characters = ["", "a", "!", '"', "\\", '\\"', "~", " ", "é", "[", "]", "x".repeat(254), "x".repeat(255), "x".repeat(256)];
  for (const first of characters) {
    for (const field of [first, `"${first}"`, `${first}a`, `"${first}a"`, `"${first}`, `${first}"`]) {
      const isAllowed = faultsOf(field, schema, () => ({})).length === 0;
      assert.equal(isAllowed, readIdempotencyKey(field) !== undefined, field);
    }
  }
});
