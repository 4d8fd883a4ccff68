/**
 * The examples of the reference, as they stand on the page: each is run against the service, in each language.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, test } from "node:test";
import { closeBrowser, here, openConsole, skip, startProgram } from "./console.js";

after(closeBrowser);

/** By operation: what each program prints, and what makes of its curl line one that gets the error beside it. */
const expected = {
  "GET /pets": [/Rex[^]*Misty/, (line) => line.replace("limit=2", "limit=0")],
  "POST /pets": [/Rex/, (line) => line.replace('"name"', '"nom"')],
  "GET /pets/{petId}": [/Rex/, (line) => line.replace("/pets/1", "/pets/99")],
  "PATCH /pets/{petId}": [/pending/, (line) => line], // A second time.
  "GET /limits": [/enterprise/, (line) => line.replace("/limits'", "/limits?[1-200]'").replace("-gi", "-i")],
};

const hasPython = spawnSync("python3", ["--version"]).status === 0;

test("each operation has an example as curl, JavaScript and Python that runs, and gets the response and the error beside it", {
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
  for (const { name, languages, response, error } of shown) {
    const [printed, spoil] = expected[name];
    assert.deepEqual(Object.keys(languages), Object.keys(runners), name);
    for (const [language, code] of Object.entries(languages)) {
      await free(program);
      const { status, stdout, stderr } = runners[language](code);
      assert.equal(status, 0, `${name} ${language}: ${stderr}`);
      assert.match(stdout, printed, `${name} ${language}`);
      if (language === "curl") {
        assert.deepEqual(shapeOf(contentOf(stdout)), shapeOf(response), name);
      }
    }
    const { code, status } = JSON.parse(contentOf(runners.curl(spoil(languages.curl)).stdout));
    assert.deepEqual({ code, status }, { code: JSON.parse(error).code, status: JSON.parse(error).status }, name);
  }
});

/** What stands beside each operation. Of the languages one is open at a time. */
async function readExamples(page) {
  const operations = page.locator("#reference-body > details", { has: page.locator("summary code b") });
  return operations.evaluateAll((all) => all.map((operation) => {
    const below = (heading) => [...operation.querySelectorAll("h3")].find((one) => one.textContent === heading).nextSibling.textContent;
    const folds = [...operation.querySelectorAll("details")];
    folds.forEach((fold) => (fold.open = true));
    return {
      name: operation.querySelector("summary code").textContent,
      languages: Object.fromEntries(folds.map((fold) => [fold.firstChild.textContent, fold.querySelector("pre").textContent])),
      openCount: folds.filter((fold) => fold.open).length,
      response: below("Response"),
      error: below("Error"),
    };
  }));
}

/** The first animal is available again, as the examples take it to be. */
async function free({ apiUrl, firstKey }) {
  const headers = { Authorization: `Bearer ${firstKey}`, "If-Match": "*", "Content-Type": "application/json" };
  await fetch(`${apiUrl}/pets/1`, { method: "PATCH", headers, body: '{"status":"available"}' });
}

/** The content of the last response that curl printed. */
function contentOf(output) {
  return output.split("\r\n\r\n").at(-1);
}

/** JSON with the types of its values, in the order of their names. */
function shapeOf(json) {
  return JSON.parse(json, (_, value) => (typeof value === "object" ? value : typeof value));
}
