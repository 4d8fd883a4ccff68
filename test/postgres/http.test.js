/**
 * The service on the database does at its HTTP interface what it does on a folder: the same tests, run once more.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { skip, startPostgres } from "./postgres-server.js";

const suites = Object.entries({
  http: ["cors", "public-pages"],
  property: ["requests"],
  request: ["authentication", "changing", "content", "guard", "idempotency", "limits", "paging", "pipeline", "responses", "targets"],
  wire: ["malformed", "smuggling", "stopping", "times", "upgrade"],
}).flatMap(([module, names]) => names.map((name) => `${module}/${name}`));
const tests = fileURLToPath(new URL("../../build/test/", import.meta.url));

test("the tests of the HTTP interface pass on PostgreSQL", { skip }, async (context) => {
  const postgres = await startPostgres();
  context.after(() => postgres.stop());
  const files = suites.map((name) => `${tests}${name}.test.js`);
  const env = {
    ...process.env,
    ANIMAL_STORE_TEST_DATABASE: postgres.url(),
    ANIMAL_STORE_TEST_PLACES: new URL("places.js", import.meta.url).href,
    NODE_TEST_CONTEXT: undefined, // It is a run of its own, not a part of this one.
  };
  const args = ["--test", "--test-concurrency=2", "--test-reporter=tap", ...files];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  const [code] = await new Promise((resolve) => child.on("close", (...result) => resolve(result)));
  const failures = output.match(/^ *not ok [\s\S]{0,1500}|^# (?!Subtest).*/gm) ?? [];
  assert.equal(code, 0, failures.join("\n"));
});
