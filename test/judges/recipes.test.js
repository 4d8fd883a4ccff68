import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { here } from "./running-service.js";

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
