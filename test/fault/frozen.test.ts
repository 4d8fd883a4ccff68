/**
 * A file system that is frozen while the service runs, as a snapshot of a volume does it. Reads go on, what writes
 * waits, and is answered after the thaw. Needs root; where no file system can be frozen the test is skipped.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { newClient } from "../support/client.ts";
import { createKey, run, start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The limits are saved, and the key file is looked at, once in that time. */
const frozenMs = 4_000;
const readMsMax = 1_500;
const misty = { name: "Misty", categoryId: 1 };

function tool(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args).status === 0;
}

test("on a frozen file system reads and /healthz go on; creates and changes of keys are answered at the thaw", {
  skip: process.getuid?.() === 0 ? false : "needs root, to freeze a file system",
}, async (context) => {
  const folder = temporaryFolder(context);
  const [image, mount] = [join(folder, "image"), join(folder, "mount")];
  writeFileSync(image, "");
  truncateSync(image, 16_777_216);
  mkdirSync(mount);
  if (!tool("mkfs.ext4", "-q", "-F", image) || !tool("mount", "-o", "loop", image, mount)) {
    context.skip("needs mkfs.ext4 and mount -o loop, which do not work here");
    return;
  }
  const thaw = (): boolean => tool("fsfreeze", "-u", mount);
  const data = join(mount, "data");
  const key = await createKey(["--data", data]);
  const server = await start(context, ["--data", data]);
  const client = newClient(server, key, { timeoutMs: frozenMs });
  try {
    assert.equal((await client.add(misty)).status, 201);
    if (!tool("fsfreeze", "-f", mount)) {
      context.skip("needs fsfreeze, which does not work here");
      return;
    }
    const endMs = performance.now() + frozenMs;
    const waiting = Promise.all([newClient(server, key).add(misty), run(["keys", "create", "--data", data])]);
    let hasEnded = false;
    void waiting.catch(() => undefined).finally(() => (hasEnded = true));
    for (let startMs = performance.now(); startMs < endMs; startMs = performance.now()) {
      for (const path of ["/v1/pets", "/healthz"]) {
        assert.equal((await client.get(path)).status, 200);
      }
      assert.ok(performance.now() - startMs < readMsMax, `two reads took ${performance.now() - startMs} ms`);
      await delay(50);
    }
    assert.equal(hasEnded, false, "nothing was answered that is not on disk");
    assert.ok(thaw());
    const [added, made] = await waiting;
    assert.deepEqual([added.status, made.code], [201, 0]);
    assert.equal(await server.stop(), 0);
  } finally {
    thaw();
    client.close();
    await server.stop("SIGKILL");
    tool("umount", "-l", mount);
  }
});
