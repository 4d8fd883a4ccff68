/** The examples of the reference, as they stand on the page: each is run against the service. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, test } from "node:test";
import { closeBrowser, openConsole, skip, startProgram } from "./console.js";

after(closeBrowser);

/** By operation: what its example prints. */
const expected = {
  "GET /pets": /Rex[^]*Misty/,
  "POST /pets": /Rex/,
  "GET /pets/{petId}": /Rex/,
  "PATCH /pets/{petId}": /pending/,
  "DELETE /pets/{petId}": /204/,
  "GET /limits": /free/,
};

test("each operation has an example as curl that runs", { skip }, async (context) => {
  const program = await startProgram(context, { pets: ["Rex", "Misty"].map((name) => ({ name, categoryId: 5 })) });
  const { page } = await openConsole(context, program);
  const env = { ...process.env, KEY: program.firstKey };
  const shown = await page.locator("#reference-body > details:has(summary code b)").evaluateAll((all) =>
    all.map((operation) => [operation.querySelector("summary code").textContent, operation.querySelector("pre").textContent]));
  assert.deepEqual(shown.map(([name]) => name), Object.keys(expected));
  for (const [name, line] of shown) {
    const { status, stdout, stderr } = spawnSync("sh", ["-c", `${line} -sS`], { encoding: "utf8", env });
    assert.equal(status, 0, `${name}: ${stderr}`);
    assert.match(stdout, expected[name], name);
  }
});
