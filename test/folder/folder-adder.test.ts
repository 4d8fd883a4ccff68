/** An import's way into a data folder that another process holds for a moment. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import type { LockSocket } from "../../src/disk/lock-socket.ts";
import { lock } from "../../src/disk/lock.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { openControlServer } from "../../src/folder/control-server.ts";
import { folderAdder } from "../../src/folder/folder-adder.ts";
import { KeyFolder } from "../support/key-folder.ts";
import { until } from "../support/until.ts";

test("an import that meets a command waits for that alone, and not for a service that may come", { timeout: 20_000 }, async (context) => {
  const folder = new KeyFolder(context);
  const { path: dataDir, clock } = folder;
  const held = await lock(join(dataDir, "server.lock"));
  assert.ok(held);
  openControlServer(held, { keys: await folder.open(), store: () => undefined, report: () => undefined });
  let askedCount = 0;
  (held as LockSocket).server.on("connection", () => askedCount++);
  const adder = folderAdder({ disk: nodeDisk, clock, dataDir, report: () => undefined }, new AbortController().signal);
  const adding = adder.add([{ name: "Rex", categoryId: 1n, status: "available" }]);
  await until("it has found the folder held, and has asked", () => askedCount >= 2);
  await held.release();
  assert.equal((await adding).addedCount, 1); // The clock stands still.
  await adder.close();
});
