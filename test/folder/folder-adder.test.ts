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

test("an import that meets a command waits for that alone, and not for a service that may come", { timeout: 20_000 }, async (context) => {
  const folder = new KeyFolder(context);
  const { path: dataDir, clock } = folder;
  const held = await lock(join(dataDir, "server.lock"));
  assert.ok(held);
  let isAsked = false;
  const store = (): undefined => void (isAsked = true);
  openControlServer(held, { keys: await folder.open(), store, report: () => undefined });
  // After a whole answer: an import that is cut off in the middle of one cannot know what became of its animals.
  const released = new Promise<void>((resolve) => {
    (held as LockSocket).server.on("connection", (connection) => {
      connection.on("close", () => isAsked && resolve(held.release()));
    });
  });
  const adder = folderAdder({ disk: nodeDisk, clock, dataDir, report: () => undefined }, new AbortController().signal);
  const adding = adder.add([{ name: "Rex", categoryId: 1n, status: "available" }]);
  await released;
  assert.equal((await adding).addedCount, 1); // The clock stands still.
  await adder.close();
});
