/** The releases of Node on which the module is tested, and what happens on another one. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { faultOfNode } from "../../src/wire/node-internals.ts";
import { start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("faultOfNode() finds nothing missing in this Node", () => {
  assert.equal(faultOfNode(), undefined);
});

test("faultOfNode() refuses majors of Node on which the lane is not tested", () => {
  for (const major of [20, 22, 24, 26]) {
    assert.equal(faultOfNode(`v${major}.15.0`), undefined);
    const next = `v${major + 1}.0.0`;
    assert.equal(faultOfNode(next), `Node ${next} is none of 20, 22, 24, 26, on which it is tested`);
  }
});

test("on another major the server says so, serves without the fast lane, and stops", async (context) => {
  const folder = temporaryFolder(context);
  const preload = join(folder, "preload.cjs");
  writeFileSync(preload, 'Object.defineProperty(process, "version", { value: "v27.0.0" });');
  const env = { NODE_OPTIONS: `--require ${preload}` };
  const program = await start(context, ["--data", join(folder, "data")], { env });
  assert.equal((await fetch(`${program.origin}/healthz`)).status, 200);
  const expected = "the fast lane is off: Node v27.0.0 is none of";
  assert.ok(program.output().stderr.includes(expected), program.output().stderr);
  assert.equal(await program.stop(), 0);
});
