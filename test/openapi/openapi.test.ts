import assert from "node:assert/strict";
import { test } from "node:test";

import { errorKinds } from "../../src/http/errors.ts";
import { publishedQuotas } from "../../src/limits/plans.ts";
import { everyNode, everyResponse, type Node, published, resolver } from "./description.ts";
import { faultsOf, type Schema } from "./json-schema.ts";

const rateFields = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
const publicPages = ["/healthz", "/openapi.json"];

function codesOf(response: Node): readonly string[] {
  const found: unknown = response["content"]?.["application/json"]?.["examples"];
  return Object.keys(found ?? {});
}

test("describeApi() leads every error code to a response of its status", () => {
  const responses = everyResponse(published());
  for (const [code, { status }] of Object.entries(errorKinds)) {
    const carriers = responses.filter((each) => codesOf(each.response).includes(code));
    assert.ok(carriers.length > 0, code);
    assert.deepEqual([...new Set(carriers.map((each) => each.status))], [status], code);
  }
});

test("describeApi() lists the codes of each error response, and no other", () => {
  const description = published();
  const resolve = resolver(description);
  for (const { name, status, response } of everyResponse(description)) {
    const media = response["content"]?.["application/json"];
    if (status < 400 || media === undefined || publicPages.some((page) => name.includes(`${page} 503`))) {
      continue;
    }
    const schema: Schema = media["schema"] ?? {};
    for (const code of Object.keys(errorKinds)) {
      const faults = faultsOf({ code, message: "Why.", status }, schema, resolve);
      assert.equal(faults.length === 0, codesOf(response).includes(code), `${name} ${code}`);
    }
  }
});

test("describeApi() holds only references that resolve, and no component that nothing refers to", () => {
  const description = published();
  const resolve = resolver(description);
  const references = new Set<string>();
  for (const [, node] of everyNode(description)) {
    const reference: unknown = node["$ref"];
    if (typeof reference === "string") {
      resolve(reference);
      references.add(reference);
    }
  }
  for (const kind of ["schemas", "headers", "responses"]) {
    for (const name of Object.keys(description["components"]?.[kind] ?? {})) {
      assert.ok(references.has(`#/components/${kind}/${name}`), name);
    }
  }
});

test("describeApi() gives every operation an id of its own", () => {
  const ids = [...everyNode(published()["paths"])].flatMap(([, node]) => node["operationId"] ?? []);
  assert.deepEqual(
    ids.map(String),
    // In the order of the paths: those of the specification, each with its companions, then the public pages.
    [
      ["listPets", "headPets", "createPet", "optionsPets", "getPet", "headPet", "optionsPet"],
      ["getHealth", "headHealth", "optionsHealth", "getDescription", "headDescription", "optionsDescription"],
    ].flat(),
  );
});

test("describeApi() has the three rate fields on every answer of the API, and none on a page's own", () => {
  for (const { name, path, status, response } of everyResponse(published())) {
    const isPage = publicPages.includes(path) && [200, 204, 405, 503].includes(status);
    const found = rateFields.filter((field) => response["headers"]?.[field] !== undefined);
    assert.deepEqual(found, isPage ? [] : rateFields, name);
  }
});

test("describeApi() has Deprecation, Sunset and Link on each answer that follows getPet's route", () => {
  const found = everyResponse(published()).filter(({ response }) => response["headers"]?.["Sunset"] !== undefined);
  const method = (name: string, statuses: readonly number[]): string[] =>
    statuses.map((status) => `${name} /pets/{petId} ${status}`);
  assert.deepEqual(
    found.map(({ name }) => name).sort(),
    [
      ...method("get", [200, 404, 500, 503]),
      ...method("head", [200, 404, 500, 503]),
      ...method("options", [204]),
      ...method("other", [405]),
    ].sort(),
  );
});

test("describeApi() gives no content to an answer to HEAD, nor to 204", () => {
  for (const { name, method, status, response } of everyResponse(published())) {
    assert.equal(response["content"] === undefined, method === "head" || status === 204, name);
  }
});

test("describeApi() has Retry-After on every 429 and WWW-Authenticate on every 401, and on nothing else", () => {
  for (const { name, status, response } of everyResponse(published())) {
    assert.equal(response["headers"]?.["Retry-After"] !== undefined, status === 429, name);
    assert.equal(response["headers"]?.["WWW-Authenticate"] !== undefined, status === 401, name);
  }
});

test("describeApi() shows only examples that its own schemas allow", () => {
  const description = published();
  const resolve = resolver(description);
  let exampleCount = 0;
  for (const [path, node] of everyNode(description)) {
    const schema = node["schema"];
    const examples: unknown[] = Object.values(node["examples"] ?? {}).map((each) => each["value"]);
    const all = [...examples, node["example"]].filter((example) => example !== undefined);
    for (const example of schema === undefined ? [] : all) {
      exampleCount += 1;
      assert.deepEqual(faultsOf(example, schema ?? {}, resolve), [], path);
    }
  }
  assert.ok(exampleCount > 50, `${exampleCount} examples`);
});

test("describeApi() uses no keyword that the walk cannot judge, and closes every object with members", () => {
  const description = published();
  const resolve = resolver(description);
  for (const [path, node] of everyNode(description)) {
    if (node["properties"] !== undefined && node["type"] !== undefined && !path.includes("openapi.json")) {
      assert.equal(node["additionalProperties"], false, path);
    }
    const unknown = faultsOf(undefined, node["schema"] ?? {}, resolve).filter((fault) => fault.includes("keyword"));
    assert.deepEqual(unknown, [], path);
  }
});

test("describeApi() marks getPet and its HEAD as deprecated, with the date, and nothing else", () => {
  const paths = [...everyNode(published()["paths"])].filter(([, node]) => "deprecated" in node);
  assert.deepEqual(
    paths.map(([path, node]) => [path, node["deprecated"], node["x-deprecated-sunset"]]),
    [
      ["#/~1pets~1{petId}/get", true, "2030-12-05"],
      ["#/~1pets~1{petId}/head", true, "2030-12-05"],
    ],
  );
});

test("describeApi() has the instants of the contract: deprecated since the release, gone on 5 December 2030", () => {
  const headers = published()["components"]?.["headers"];
  assert.deepEqual(headers?.["Deprecation"]?.["schema"], { type: "string", const: "@1795219200" });
  assert.deepEqual(headers?.["Sunset"]?.["schema"], { type: "string", const: "Thu, 05 Dec 2030 00:00:00 GMT" });
});

test("describeApi() names the published quotas, every code, and the bounds of an int64 to the last digit", () => {
  const text = JSON.stringify(published());
  for (const { perMinute, perDay } of Object.values(publishedQuotas)) {
    assert.ok(text.includes(`${perMinute} | ${perDay}`), String(perMinute));
  }
  for (const expected of ["-9223372036854775808", "9223372036854775807", ...Object.keys(errorKinds)]) {
    assert.ok(text.includes(expected), expected);
  }
});

test("describeApi() survives JSON: nothing is dropped or rounded on the way", () => {
  for (const [path, node] of everyNode(published())) {
    for (const [name, value] of Object.entries<unknown>(node)) {
      assert.ok(value !== null && (typeof value !== "number" || Number.isSafeInteger(value)), `${path}/${name}`);
    }
  }
});

test("describeApi() takes the servers from the addresses, and those of the public pages from their roots", () => {
  const table = [
    [{}, ["/v1"], ["/"]],
    [{ baseUrl: "https://a.test/v1" }, ["https://a.test/v1"], ["https://a.test"]],
    [{ baseUrl: "https://a.test:8443/pets/v1" }, ["https://a.test:8443/pets/v1"], ["https://a.test:8443"]],
    [{ stagingBaseUrl: "http://b.test/v1" }, ["/v1", "http://b.test/v1"], ["/", "http://b.test"]],
    [
      { baseUrl: "https://a.test/v1", stagingBaseUrl: "https://b.test/v1" },
      ["https://a.test/v1", "https://b.test/v1"],
      ["https://a.test", "https://b.test"],
    ],
  ] as const;
  for (const [addresses, bases, roots] of table) {
    const description = published(addresses);
    const urls = (servers: Node | undefined): unknown[] => Object.values(servers ?? {}).map((server) => server["url"]);
    assert.deepEqual(urls(description["servers"]), bases);
    for (const page of publicPages) {
      assert.deepEqual(urls(description["paths"]?.[page]?.["servers"]), roots);
      assert.deepEqual(description["paths"]?.[page]?.["get"]?.["security"], []);
    }
  }
});

test("describeApi() allows exactly the names of the contract", () => {
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
