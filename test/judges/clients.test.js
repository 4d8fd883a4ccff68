import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { here, runJudge, startService } from "./running-service.js";

/** A client developer's way: fetch the description, generate, compile, call. */
let service;

before(async () => {
  service = await startService();
  const description = await (await fetch(`${service.origin}/openapi.json`)).text();
  await writeFile(join(here, "generated", "openapi.json"), description);
});

after(() => service.stop());

function run(name, args) {
  const { output, status } = runJudge(name, args);
  assert.equal(status, 0, output);
}

test("openapi-typescript and @hey-api/openapi-ts make clients that compile strictly", () => {
  run("openapi-typescript", ["generated/openapi.json", "--output", "generated/openapi-typescript/schema.ts"]);
  run("openapi-ts", ["--file", "hey-api.config.js"]);
  run("tsc", ["--project", "tsconfig.json"]);
});

for (const name of ["openapi-fetch", "hey-api"]) {
  test(`the client of ${name} does a full round: create, list, page, get, error`, async () => {
    const { round } = await import(`./generated/out/clients/${name}.js`);
    await round(service.baseUrl, service.apiKey);
  });
}

test("a client of openapi-typescript may leave out what the service does not need", async () => {
  const types = await readFile(join(here, "generated", "openapi-typescript", "schema.ts"), "utf8");
  assert.match(types, /status\?: components\["schemas"\]\["PetStatus"\]/);
});
