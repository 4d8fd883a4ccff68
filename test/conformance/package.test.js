import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../build/test/support/temporary-folder.js";
import { here, runTool } from "./running-service.js";

const [report] = JSON.parse(await readFile(join(here, "generated", "pack.json"), "utf8"));
const installed = join(here, "node_modules", "animal-store");
const { exports } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
const entries = Object.values(exports).flatMap(({ types = [] }) => types).map((path) => join(installed, path));
const tarball = join(here, "generated", report.filename);
const paths = report.files.map(({ path }) => path);

test("the tarball holds JavaScript, types, README with its picture, SECURITY.md, manual and recipes, and no test of its own", () => {
  console.log(`${report.filename}: ${report.size} bytes, ${report.unpackedSize} unpacked, ${paths.length} files`);
  const built = /^(dist\/[a-z0-9/-]+\.(d\.ts|js|html|css)|src\/manual\/([a-z-]+\.md|recipes\/.*))$/;
  const documents = [".github/SECURITY.md", "LICENSE", "README.md", "package.json", "src/observe/README.md", "test/browser/console.png"];
  assert.deepEqual(paths.filter((path) => !built.test(path)).sort(), documents);
  assert.deepEqual(paths.filter((path) => /\.test\.|^dist\/test\//.test(path) && !path.startsWith("src/manual/recipes/")), []);
});

test("the types of each export compile alone, by both resolutions", () => {
  assert.equal(entries.length, 2);
  for (const resolution of ["nodenext", "bundler"]) {
    const module = resolution === "nodenext" ? resolution : "esnext";
    const flags = ["--noEmit", "--strict", "--target", "es2022", "--types", "node", "--module", module, "--moduleResolution", resolution];
    assert.equal(runTool("tsc", [...flags, ...entries]).output, "");
  }
});

test("no comment that an editor shows of an export names a file, which a user has not", async () => {
  const listed = runTool("tsc", ["--listFilesOnly", "--module", "nodenext", "--types", "node", ...entries]).output.split("\n");
  const reached = listed.filter((path) => path.includes("/animal-store/dist/"));
  assert.ok(reached.length > 10);
  for (const path of reached) {
    const text = (await readFile(path, "utf8")).replace(/from "[^"]*"|import\("[^"]*"\)/g, "");
    assert.doesNotMatch(text, /[\w-]\.(ts|js|md)\b/, path);
  }
});

test("every relative link and picture of the README and the manual leads to a file of the tarball", async () => {
  for (const document of paths.filter((path) => path === "README.md" || /^src\/manual\/[a-z-]+\.md$/.test(path))) {
    const text = await readFile(join(here, "node_modules", "animal-store", document), "utf8");
    for (const [, link] of text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
      assert.ok(paths.includes(join(dirname(document), link)), `${document} links ${link}`);
    }
  }
});

test("publint finds no fault in the package", () => {
  const { output, status } = runTool("publint", ["--strict", tarball]);
  console.log(output);
  assert.equal(status, 0);
  assert.match(output, /All good/);
});

test("attw finds no fault in the types", () => {
  // The package is for import alone: Node >= 20.15 cannot require it in every release.
  const plain = ["--format", "ascii", "--no-emoji", "--no-color"];
  const { output, status } = runTool("attw", [tarball, "--profile", "esm-only", ...plain]);
  console.log(output);
  assert.equal(status, 0);
  assert.match(output, /"animal-store"/);
});

test("the tarball installs alone in an empty folder, with no dependency, and runs", async (context) => {
  const folder = temporaryFolder(context);
  await writeFile(join(folder, "package.json"), '{"private":true}');
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd: folder, stdio: "pipe" });
  const installed = (await readdir(join(folder, "node_modules"))).filter((name) => !name.startsWith("."));
  assert.deepEqual(installed, ["animal-store"]);
  const { version } = JSON.parse(await readFile(join(here, "..", "..", "package.json"), "utf8"));
  const said = execFileSync("npx", ["--no-install", "animal-store", "--version"], { cwd: folder, encoding: "utf8" });
  assert.match(said, new RegExp(`(^|\\s)${version.replaceAll(".", "\\.")}\\n$`));
});
