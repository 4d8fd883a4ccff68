/**
 * What fails, and what a command does again and again in one process, leaves no file open.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { nodeDisk } from "../../src/disk/node-disk.ts";
import { lineWithChecksum } from "../../src/log/checksum.ts";
import { DamagedLogError, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { KeyFolder } from "../support/key-folder.ts";

const skip = existsSync("/proc/self/fd") ? false : "needs /proc/self/fd";

test("starts that fail, named pipes and changes of keys leave no file open", { skip }, async (context) => {
  const folder = new KeyFolder(context);
  writeFileSync(join(folder.path, "pets.jsonl"), lineWithChecksum('{"wrong":1}'));
  const pipe = join(folder.path, "pipe");
  execFileSync("mkfifo", [pipe]);
  const keys = await folder.open();
  const openCounts: number[] = [];
  for (let round = 0; round < 50; round++) {
    await assert.rejects(openPetStore({ disk: nodeDisk, dataDir: folder.path, report: assert.fail }), DamagedLogError);
    await assert.rejects(nodeDisk.openToRead(pipe), { code: "EINVAL" });
    await keys.create();
    openCounts.push(readdirSync("/proc/self/fd").length);
  }
  assert.equal(openCounts.at(-1), openCounts[0]);
});
