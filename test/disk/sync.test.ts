/**
 * Syncs where an environment has only one of Node's two ways: by the descriptor, or by the handle of a file. The
 * program is run as an operator does, and what it has synced is there after a restart.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";

import { createKey, programPath, run, start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** As in Node's permission model: the call has no effect. */
const withoutDescriptors = `
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  for (const call of ["fsync", "fdatasync"]) {
    const denied = Object.assign(new Error(call + " API is disabled"), { code: "ERR_ACCESS_DENIED" });
    fs[call] = (descriptor, done) => process.nextTick(done, denied);
  }
  syncBuiltinESMExports();`;

/** As in Yarn's Plug'n'Play. */
const withoutHandles = `
  import { open } from "node:fs/promises";
  const handle = await open(process.execPath);
  Object.getPrototypeOf(handle).sync = Object.getPrototypeOf(handle).datasync = () => {
    throw new Error("Method not implemented.");
  };
  await handle.close();`;

async function assertServes(context: TestContext, data: string, options: string): Promise<void> {
  const env = { NODE_OPTIONS: options };
  const key = await createKey(["--data", data], "free", { env });
  const program = await start(context, ["--data", data], { env });
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ name: "Rex", categoryId: 1 });
  const response = await fetch(`${program.url}/pets`, { method: "POST", headers, body });
  assert.equal(response.status, 201, await response.text());
  assert.equal(await program.stop(), 0);
  assert.match(readFileSync(join(data, "pets.jsonl"), "utf8"), /^\{"id":1,"name":"Rex",.*\}\n$/);
}

for (const [lack, script] of [
  ["fs.fsync and fs.fdatasync are refused", withoutDescriptors],
  ["a FileHandle cannot sync", withoutHandles],
] as const) {
  test(`the program makes keys and adds animals where ${lack}`, async (context) => {
    const module = `data:text/javascript,${encodeURIComponent(script)}`;
    await assertServes(context, join(temporaryFolder(context), "data"), `--import ${module}`);
  });
}

test("under Node's permission model the program serves, or does not start where that forbids every sync", async (context) => {
  const data = temporaryFolder(context);
  mkdirSync(join(data, "here"));
  const flags = process.allowedNodeEnvironmentFlags;
  const options = [
    flags.has("--permission") ? "--permission" : "--experimental-permission",
    ...(flags.has("--allow-net") ? ["--allow-net"] : []),
    ...[join(dirname(programPath), "../"), `${data}/`].map((path) => `--allow-fs-read=${path}`),
    `--allow-fs-write=${data}/`,
  ];
  const probe = `require("fs").promises.open(${JSON.stringify(data)}).then((folder) => folder.sync())`;
  if (spawnSync(process.execPath, [...options, "-e", probe]).status === 0) {
    await assertServes(context, join(data, "here"), options.join(" "));
  } else {
    const env = { NODE_OPTIONS: options.join(" "), NODE_NO_WARNINGS: "1" };
    const { code, stderr } = await run(["--port", "0", "--data", join(data, "here")], { env });
    assert.match(`${code} ${stderr}`, /^2 Cannot use --data \S+: f(data)?sync API is disabled .*\n$/);
  }
});
