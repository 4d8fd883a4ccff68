import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { here } from "../running-service.js";

test("every embedding example of the README is one of the programs that are run here", async () => {
  const readme = await readFile(join(here, "..", "..", "README.md"), "utf8");
  const quoted = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map((match) => match[1]);
  const programs = new Map();
  for (const name of await readdir(join(here, "embedding"))) {
    programs.set(await readFile(join(here, "embedding", name), "utf8"), name);
  }
  const examples = quoted.filter((code) => code.includes('from "animal-store"'));
  assert.ok(examples.length > 0, "the README shows how to embed the service");
  for (const code of examples) {
    assert.ok(programs.has(code), `differs from the program that is run:\n${code}`);
  }
  console.log(`The README quotes ${examples.map((code) => programs.get(code)).join(", ")}`);
});
