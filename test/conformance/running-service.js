/**
 * The packed program, running with a folder of its own on a free port, and commands of the conformance tests.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKey, start } from "../../build/test/support/program.js";

export const here = import.meta.dirname;
export const recipes = join(here, "..", "..", "src", "manual", "recipes");
/** The program of the packed package. */
export const programPath = join(here, "node_modules", "animal-store", "dist", "server.js");

/** Starts the server. `args` follow its port and folder. `stop` ends it, and fails unless the exit code is 0. */
export async function startService(args = [], plan = "business") {
  const dataDir = await mkdtemp(join(tmpdir(), "animal-store-conformance-"));
  const how = { program: programPath };
  const apiKey = await createKey(["--data", dataDir], plan, how);
  const service = await start(undefined, ["--data", dataDir, ...args], how);
  const stop = async () => {
    assert.equal(await service.stop(), 0);
    await rm(dataDir, { recursive: true });
  };
  return { baseUrl: service.url, origin: service.origin, apiKey, dataDir, stop };
}

/** Runs a program of node_modules/.bin to its end, without colours, updates or telemetry. */
export function runTool(name, args) {
  const { stdout, stderr, status } = spawnSync(join(here, "node_modules", ".bin", name), args, {
    cwd: here,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
  });
  return { output: `${stdout}${stderr}`, status };
}
