/**
 * Recipes of the README for whoever runs or measures the server, each as it is quoted.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { here, programPath } from "./running-service.js";

const readme = await readFile(join(here, "..", "..", "README.md"), "utf8");

test("systemd has nothing to say of the README's unit", async (context) => {
  if (spawnSync("systemd-analyze", ["--version"]).error !== undefined) {
    context.skip("systemd-analyze is not installed (Debian: systemd)");
    return;
  }
  const [, unit] = /^```ini\n(.*?)^```$/ms.exec(readme);
  const folder = await mkdtemp(join(tmpdir(), "animal-store-unit-"));
  const path = join(folder, "animal-store.service");
  await writeFile(path, unit.replace("/usr/bin/node", process.execPath));
  const { stdout, stderr, status } = spawnSync("systemd-analyze", ["verify", path], { encoding: "utf8" });
  // It also looks at the units that ours names, which are the machine's.
  const said = `${stdout}${stderr}`.split("\n").filter((line) => line.includes("animal-store"));
  assert.deepEqual([status, said], [0, []]);
  await rm(folder, { recursive: true });
});

test("a log that is damaged is cut before the damage, and the rest is served again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "animal-store-damaged-"));
  const ending = { encoding: "utf8", timeout: 30_000 };
  const run = (...args) => spawnSync(process.execPath, [programPath, ...args, "--data", folder], ending);
  for (let count = 0; count < 2; count += 1) { // The second group vouches for the first: damage there is no torn end.
    assert.equal(run("import", join(here, "..", "..", "data", "sample.jsonl")).status, 0);
  }
  const path = join(folder, "pets.jsonl");
  const log = await readFile(path, "utf8");
  const lines = log.split("\n");
  lines[9] = lines[9].replace('"id":10', '"id":11');
  await writeFile(path, `${lines.join("\n")}{"id":`);

  const refused = run("--port", "0");
  assert.equal(refused.status, 1);
  const [, line, byte] = /line (\d+), byte (\d+)/.exec(refused.stderr);
  assert.equal(line, "10");
  const [, command] = /^(cp pets\.jsonl .*BYTE.*)$/m.exec(readme);
  assert.equal(spawnSync("sh", ["-c", command.replace("BYTE", byte)], { cwd: folder }).status, 0);
  assert.match(run("check").stdout, /pets\.jsonl is sound: 9 animals/);
  assert.equal(await readFile(path, "utf8"), log.split("\n").slice(0, 9).map((kept) => `${kept}\n`).join(""));
  await rm(folder, { recursive: true });
});

test("the profile and the comparison of two builds still come to their end", () => {
  const dist = join(here, "..", "..", "dist");
  const bench = (file, ...args) => spawnSync(process.execPath, [join(here, "..", "bench", file), ...args], { encoding: "utf8" });
  const profile = bench("profile.js", dist, "--only", "W3", "--seconds", "1");
  assert.equal(profile.status, 0, profile.stderr);
  assert.match(profile.stdout, /^ +[\d.]+ %  #route  request-path\.js:\d+$/m);
  const comparison = bench("compare.js", dist, dist, "--only", "W3", "--launches", "1", "--rounds", "1", "--floor");
  assert.equal(comparison.status, 0, comparison.stderr);
  assert.match(comparison.stdout, /^  to the floor: A \d+\.\d+, B \d+\.\d+$/m);
});
