import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createKey, here, runJudge, startProgram, stopProgram } from "./running-service.js";

const [report] = JSON.parse(await readFile(join(here, "generated", "pack.json"), "utf8"));
const tarball = join(here, "generated", report.filename);
const folder = await mkdtemp(join(tmpdir(), "animal-store-install-"));

after(() => rm(folder, { recursive: true }));

test("the tarball holds dist with its types, README, LICENSE and package.json, and nothing else", () => {
  const paths = report.files.map(({ path }) => path);
  console.log(`${report.filename}: ${report.size} bytes, ${report.unpackedSize} unpacked, ${paths.length} files`);
  console.log(report.files.map(({ path, size }) => `${String(size).padStart(8)}  ${path}`).join("\n"));
  const others = paths.filter((path) => !/^dist\/[a-z0-9/-]+\.(js|d\.ts)$/.test(path));
  assert.deepEqual(others.sort(), ["LICENSE", "README.md", "package.json"]);
  assert.ok(report.size < 250_000, `${report.size} bytes`);
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

test("the installed program serves", async () => {
  const program = join(folder, "node_modules", "animal-store", "dist", "server.js");
  createKey(join(folder, "data"), "free"); // Otherwise the first line would be about the first key.
  const { child, firstLine } = await startProgram([program, "--port", "0", "--data", join(folder, "data")]);
  const origin = new URL(firstLine.split(" ")[2]).origin;
  assert.deepEqual(await (await fetch(`${origin}/healthz`)).json(), { status: "ok" });
  await stopProgram(child);
});

test("the package's own entry exports openAnimalStore, and starts nothing", async () => {
  const script = 'import("animal-store").then((all) => console.log(Object.keys(all).join()))';
  const said = execFileSync(process.execPath, ["--eval", script], { cwd: folder, encoding: "utf8", timeout: 10_000 });
  assert.ok(said.trim().split(",").includes("openAnimalStore"), said);
});
