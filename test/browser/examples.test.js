/**
 * The examples of the reference, as they stand on the page: each is run against the service, in each language.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, test } from "node:test";
import { closeBrowser, here, openConsole, skip, startProgram } from "./console.js";

after(closeBrowser);

/** By operation: what each program prints. */
const expected = {
  "GET /pets": /Rex[^]*Misty/,
  "POST /pets": /Rex/,
  "GET /pets/{petId}": /Rex/,
  "PATCH /pets/{petId}": /pending/,
  "GET /limits": /enterprise/,
};

const hasPython = spawnSync("python3", ["--version"]).status === 0;

test("each operation has an example as curl, JavaScript and Python that runs", {
  skip: skip || (!hasPython && "python3 is not installed"),
}, async (context) => {
  const program = await startProgram(context, { pets: ["Rex", "Misty"].map((name) => ({ name, categoryId: 5 })) });
  const { page } = await openConsole(context, program);
  await program.changeKey("plan", "--plan", "enterprise", "--per-minute", "100", "--per-day", "1000");
  const run = (command, args) => {
    const env = { ...process.env, KEY: program.firstKey };
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8", env, cwd: join(here, "../..") });
    return { status, stdout, stderr };
  };
  const runners = {
    curl: (code) => run("sh", ["-c", `${code} -sS`]),
    JavaScript: (code) => run("node", ["--input-type=module", "-e", code]),
    Python: (code) => run("python3", ["-c", code]),
  };
  const shown = await readExamples(page);
  assert.deepEqual(shown.map(({ name, openCount }) => [name, openCount]), Object.keys(expected).map((name) => [name, 1]));
  for (const { name, languages } of shown) {
    assert.deepEqual(Object.keys(languages), Object.keys(runners), name);
    for (const [language, code] of Object.entries(languages)) {
      await free(program);
      const { status, stdout, stderr } = runners[language](code);
      assert.equal(status, 0, `${name} ${language}: ${stderr}`);
      assert.match(stdout, expected[name], `${name} ${language}`);
    }
  }
});

/** What stands beside each operation. Of the languages one is open at a time. */
async function readExamples(page) {
  const operations = page.locator("#reference-body > details", { has: page.locator("summary code b") });
  return operations.evaluateAll((all) => all.map((operation) => {
    const folds = [...operation.querySelectorAll("details")];
    folds.forEach((fold) => (fold.open = true));
    return {
      name: operation.querySelector("summary code").textContent,
      languages: Object.fromEntries(folds.map((fold) => [fold.firstChild.textContent, fold.querySelector("pre").textContent])),
      openCount: folds.filter((fold) => fold.open).length,
    };
  }));
}

/** The first animal is available again, as the examples take it to be. */
async function free({ apiUrl, firstKey }) {
  const headers = { Authorization: `Bearer ${firstKey}`, "If-Match": "*", "Content-Type": "application/json" };
  await fetch(`${apiUrl}/pets/1`, { method: "PATCH", headers, body: '{"status":"available"}' });
}
