/**
 * Gateways that import OpenAPI 3.0 get the description of 3.1 through a converter, which rewrites what differs in the
 * schemas and leaves the rest. What no converter rewrites must not be in the description.
 */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { here, runTool, startService } from "./running-service.js";

/** Rewrites a value as openapi-down-convert does, as far as the description has need of it. */
function downConverted(value) {
  if (Array.isArray(value)) {
    return value.map(downConverted);
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if ("$ref" in value) {
    return { $ref: value.$ref }; // What stands beside it is ignored in 3.0.
  }
  const { const: only, identifier: _, ...rest } = value;
  const converted = Object.fromEntries(Object.entries(rest).map(([name, member]) => [name, downConverted(member)]));
  if (only !== undefined) {
    converted.enum = [only];
  }
  if (Array.isArray(converted.examples)) { // Of a schema; a content's are an object in both.
    [converted.example] = converted.examples;
    delete converted.examples;
  }
  return converted;
}

test("the description is valid in OpenAPI 3.0, once it is converted", async () => {
  const service = await startService();
  const description = await (await fetch(`${service.origin}/openapi.json`)).json();
  await service.stop();
  const path = join(here, "generated", "openapi-3.0.json");
  await writeFile(path, JSON.stringify({ ...downConverted(description), openapi: "3.0.3" }));
  const { status, output } = runTool("redocly", ["lint", "--extends", "minimal", path]);
  console.log(output);
  assert.equal(status, 0);
  assert.match(output, /Your API description is valid/);
});
