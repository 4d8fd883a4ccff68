import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { here, runJudge } from "./running-service.js";

const [report] = JSON.parse(await readFile(join(here, "generated", "pack.json"), "utf8"));
const tarball = join(here, "generated", report.filename);
const folder = await mkdtemp(join(tmpdir(), "animal-store-install-"));

after(() => rm(folder, { recursive: true }));

const paths = report.files.map(({ path }) => path);

test("the tarball holds JavaScript, the types that its exports reach, README, manual and recipes, in 212 kB", () => {
  console.log(`${report.filename}: ${report.size} bytes, ${report.unpackedSize} unpacked, ${paths.length} files`);
  console.log(report.files.map(({ path, size }) => `${String(size).padStart(8)}  ${path}`).join("\n"));
  const others = paths.filter((path) => !/^(dist\/[a-z0-9/-]+\.(js|html|css)|src\/manual\/([a-z-]+\.md|recipes\/.*))$/.test(path));
  const documents = ["LICENSE", "README.md", "package.json", "src/observe/README.md"];
  const types = others.filter((path) => path.startsWith("dist/"));
  assert.deepEqual(others.filter((path) => !types.includes(path)).sort(), documents);
  const entries = ["index.d.ts", "testing/index.d.ts"].map((name) => join("node_modules", "animal-store", "dist", name));
  const listed = runJudge("tsc", ["--listFilesOnly", "--module", "nodenext", "--types", "node", ...entries]);
  const reached = Array.from(listed.output.matchAll(/\/animal-store\/(dist\/.*)$/gm), ([, path]) => path);
  assert.deepEqual(types.sort(), reached.sort());
  // It is packed without comments, and only with the types that are reached.
  assert.ok(report.size <= 212_000, `${report.size} bytes`);
});

/** The README's picture shows what an installed program serves at `/`: it is not worth its bytes there. */
test("every relative link of the README and the manual, except the picture's, leads to a file of the tarball", async () => {
  for (const document of paths.filter((path) => path === "README.md" || /^src\/manual\/[a-z-]+\.md$/.test(path))) {
    const text = await readFile(join(here, "node_modules", "animal-store", document), "utf8");
    for (const [, link] of text.matchAll(/(?<!!\[[^\]]*)\]\((?!https?:|#)([^)#]+)/g)) {
      assert.ok(paths.includes(join(dirname(document), link)), `${document} links ${link}`);
    }
  }
});

test("publint finds no fault in the package", () => {
  const { output, status } = runJudge("publint", ["--strict", tarball]);
  console.log(output);
  assert.equal(status, 0);
  assert.match(output, /All good/);
});

test("attw finds no fault in the types", () => {
  // The package is for import alone: Node >= 20.15 cannot require it in every release.
  const plain = ["--format", "ascii", "--no-emoji", "--no-color"];
  const { output, status } = runJudge("attw", [tarball, "--profile", "esm-only", ...plain]);
  console.log(output);
  assert.equal(status, 0);
  assert.match(output, /"animal-store"/);
});

test("the tarball installs alone in an empty folder, with no dependency, and runs", async () => {
  await writeFile(join(folder, "package.json"), '{"private":true}');
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd: folder, stdio: "pipe" });
  const installed = (await readdir(join(folder, "node_modules"))).filter((name) => !name.startsWith("."));
  assert.deepEqual(installed, ["animal-store"]);
  const { version } = JSON.parse(await readFile(join(here, "..", "..", "package.json"), "utf8"));
  const said = execFileSync("npx", ["--no-install", "animal-store", "--version"], { cwd: folder, encoding: "utf8" });
  assert.match(said, new RegExp(`(^|\\s)${version.replaceAll(".", "\\.")}\\n$`));
});
