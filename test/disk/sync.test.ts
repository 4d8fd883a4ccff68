/**
 * Files where an environment has replaced functions of node:fs: an agent that wraps them, or one that has only one of
 * Node's two ways to sync, by the descriptor or by the handle of a file. The program is run as an operator does, and
 * what it has written is there after a restart.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
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

/** As an agent that watches a program does: what a wrapper keeps of a function is its documented call. */
const wrapped = `
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  for (const name of Object.keys(fs)) {
    const wrappee = fs[name];
    if (typeof wrappee === "function" && /^[a-z]/.test(name) && !name.endsWith("Sync")) {
      fs[name] = (...parameters) => wrappee(...parameters);
    }
  }
  syncBuiltinESMExports();`;

/** A wrapper that forgets what a read returns. */
const withoutCounts = `
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  const { read } = fs;
  fs.read = (descriptor, target, offset, length, position, done) =>
    read(descriptor, target, offset, length, position, (error) => done(error));
  syncBuiltinESMExports();`;

function importing(script: string): string {
  return `--import data:text/javascript,${encodeURIComponent(script)}`;
}

async function assertServes(context: TestContext, data: string, options: string): Promise<void> {
  const env = { NODE_OPTIONS: options };
  const key = await createKey(["--data", data], "free", { env });
  const program = await start(context, ["--data", data], { env });
  assert.equal(program.firstKey, undefined, "the key has been read");
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
  ["every function of fs is wrapped", wrapped],
] as const) {
  test(`the program makes keys and adds animals where ${lack}`, async (context) => {
    await assertServes(context, join(temporaryFolder(context), "data"), importing(script));
  });
}

test("where fs.read is broken no file looks empty: every command fails, and says why", async (context) => {
  const [data, copy] = ["data", "copy"].map((name) => join(temporaryFolder(context), name)) as [string, string];
  await createKey(["--data", data]);
  const file = join(data, "pets.jsonl");
  writeFileSync(file, '{"name":"Rex","categoryId":1}\n'); // Whatever it is, it is not empty.
  const env = { NODE_OPTIONS: importing(withoutCounts) };
  for (const command of [["keys", "list"], ["check"], ["export", copy], ["check", "--salvage", copy], ["import", file], ["--port", "0"]]) {
    const { code, stdout, stderr } = await run([...command, "--data", data], { env });
    assert.notEqual(code, 0, command.join(" "));
    assert.match(stdout + stderr, /fs\.read of \d+ bytes has returned undefined/, command.join(" "));
  }
  assert.equal(existsSync(join(copy, "keys.jsonl")), false);
});

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
    assert.match(`${code} ${stderr}`, /^2 Cannot use --data \S+: .*f(data)?sync API is disabled .*\n$/);
  }
});
