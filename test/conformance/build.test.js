/** `npm start` in a clone whose service runs: it builds what has changed, and takes no file away. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFile, cp, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../build/test/support/temporary-folder.js";
import { project } from "./examples.js";

/** When each JavaScript file of the build was written. */
async function timesOf(dist) {
  const names = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith(".js"));
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, (await stat(join(dist, name))).mtimeMs])));
}

test("a build writes only what has changed, and makes a removed build anew", async (context) => {
  const clone = temporaryFolder(context);
  for (const name of ["package.json", "tsconfig.json", "src"]) {
    await cp(join(project, name), join(clone, name), { recursive: true });
  }
  await symlink(join(project, "node_modules"), join(clone, "node_modules"));
  const build = async (command) => {
    execFileSync("sh", ["-c", command], { cwd: clone });
    return timesOf(join(clone, "dist"));
  };
  const first = await build("npm run --silent build");
  assert.ok("server.js" in first && "console/main.js" in first);
  assert.deepEqual(await build("npm run --silent build"), first);
  await appendFile(join(clone, "src", "base", "pluralize.ts"), "// A comment.\n");
  const second = await build("npm run --silent build");
  assert.deepEqual(Object.keys(second).filter((name) => second[name] !== first[name]), ["base/pluralize.js"]);
  const third = await build("rm -rf dist && npm run --silent build");
  assert.deepEqual(Object.keys(third).sort(), Object.keys(second).sort());
  // Another release was built here, which does not know what this one remembers.
  const file = join(clone, "dist", "base", "pluralize.js");
  const text = await readFile(file, "utf8");
  await writeFile(file, "export {};");
  await build("npm run --silent build");
  assert.equal(await readFile(file, "utf8"), text);
});
