/**
 * A command loads only what it needs, because loading is most of the time that a short command takes.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { run } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Runs in the program's process: its last line on standard error lists the modules of Node that it has loaded. */
const listModules = 'process.on("exit", () => process._rawDebug(JSON.stringify(process.moduleLoadList)))';
const environment = { NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(listModules)}"` };

async function loadedBy(args: readonly string[]): Promise<ReadonlySet<string>> {
  const { code, stderr } = await run(args, { env: environment });
  assert.equal(code, 0, stderr);
  return new Set(JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "") as string[]);
}

test("--version, --help, keys and check load no HTTP server, and the first two no cryptography", async (context) => {
  const folder = temporaryFolder(context);
  const commands = [["--version"], ["--help"], ["keys", "list", "--data", folder], ["check", "--data", folder]];
  for (const args of commands) {
    const modules = await loadedBy(args);
    assert.ok(modules.has("NativeModule fs"), "the list is there");
    assert.ok(!modules.has("NativeModule http"), args.join(" "));
    assert.ok(args.length > 2 || !modules.has("NativeModule crypto"), args.join(" "));
  }
});
