import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { here, runTool, startService } from "./running-service.js";

/** What a client's developer does: fetch the description, generate, compile, call. */
const service = await startService();
after(() => service.stop());
const description = await (await fetch(`${service.origin}/openapi.json`)).text();
await writeFile(join(here, "generated", "openapi.json"), description);

function run(name, args) {
  const { output, status } = runTool(name, args);
  assert.equal(status, 0, output);
}

test("openapi-typescript and @hey-api/openapi-ts make clients that compile strictly", () => {
  run("openapi-typescript", ["generated/openapi.json", "--output", "generated/openapi-typescript/schema.ts"]);
  run("openapi-ts", ["--file", "hey-api.config.js"]);
  run("tsc", ["--project", "tsconfig.json"]);
});

for (const name of ["openapi-fetch", "hey-api"]) {
  test(`the client of ${name} creates, lists, pages, gets, changes, reads limits and errors`, async () => {
    const { round } = await import(`./generated/out/clients/${name}.js`);
    await round(service.baseUrl, service.apiKey);
  });
}

test("generated clients have six methods, one for each operation", async () => {
  const names = ["changePet", "createPet", "getLimits", "getPet", "listPets", "removePet"];
  const sdk = await readFile(join(here, "generated", "hey-api", "sdk.gen.ts"), "utf8");
  assert.deepEqual([...sdk.matchAll(/^export const (\w+) = /gm)].map(([, name]) => name).sort(), names);
  const types = await readFile(join(here, "generated", "openapi-typescript", "schema.ts"), "utf8");
  assert.deepEqual([...types.matchAll(/: operations\["(\w+)"\];/g)].map(([, name]) => name).sort(), names);
});
