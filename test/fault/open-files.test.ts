/**
 * Opens that fail, and work that one process does again and again, leave no file open, and connections leave some free.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { type AnimalStore, openAnimalStore } from "../../src/service.ts";
import { DamagedLogError, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { KeyFolder } from "../support/key-folder.ts";
import { createKey, run, start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { request, Wire } from "../support/wire.ts";

const skip = existsSync("/proc/self/fd") ? false : "needs /proc/self/fd";

test("starts that fail, named pipes and changes of keys leave no file open", { skip }, async (context) => {
  const folder = new KeyFolder(context);
  writeFileSync(join(folder.path, "pets.jsonl"), lineWithChecksum('{"wrong":1}'));
  const pipe = join(folder.path, "pipe");
  execFileSync("mkfifo", [pipe]);
  const keys = await folder.open();
  const openCounts: number[] = [];
  for (let round = 0; round < 10; round++) {
    await assert.rejects(openPetStore({ disk: nodeDisk, dataDir: folder.path, report: assert.fail }), DamagedLogError);
    await assert.rejects(nodeDisk.openToRead(pipe), { code: "EINVAL" });
    await keys.create();
    openCounts.push(readdirSync("/proc/self/fd").length);
  }
  assert.equal(openCounts.at(-1), openCounts[0]);
});

test("an embedded service that cannot be opened leaves no file open, and its folder free", { skip }, async (context) => {
  const { path, open } = await keysAndUnreadableLimits(context);
  const openCounts: number[] = [];
  for (let round = 0; round < 5; round++) {
    await assert.rejects(open(), /limits\.json/);
    openCounts.push(readdirSync("/proc/self/fd").length);
  }
  assert.equal(openCounts.at(-1), openCounts[0]);
  rmdirSync(join(path, "limits.json"));
  await (await open()).close();
});

/** A folder that is in the place of limits.json can be opened, and not be read. */
async function keysAndUnreadableLimits(context: TestContext): Promise<{ path: string; open: () => Promise<AnimalStore> }> {
  const { path } = new KeyFolder(context);
  await createKey(["--data", path]);
  mkdirSync(join(path, "limits.json"));
  return { path, open: () => openAnimalStore({ dataDir: path, report: () => undefined }) };
}

test("however many strangers connect, to metrics too, descriptors are left for files: a revoked key stops working", { skip }, async (context) => {
  const data = temporaryFolder(context);
  const key = await createKey(["--data", data]);
  const args = ["--data", data, "--metrics-port", "0"];
  const program = await start(context, args, { wrapper: ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"] });
  const metrics = await until("metrics", () => /metrics on \S+:(\d+)/.exec(program.output().stderr)?.[1]);
  const wire = await Wire.open(Number(new URL(program.url).port));
  assert.equal((await wire.send(request({ key })).response()).status, 200);
  const ports = Array.from({ length: 300 }, (_, index) => Number(index < 60 ? metrics : new URL(program.url).port));
  const strangers = await Promise.all(ports.map((port) => Wire.open(port)));
  for (const port of [new URL(program.url).port, metrics]) {
    await until(`a line about port ${port}`, () => program.output().stderr.includes(`connections to port ${port} cannot be accepted`));
  }
  const [id = ""] = (/key_\w+/.exec((await run(["keys", "list", "--data", data])).stdout) ?? []);
  assert.equal((await run(["keys", "revoke", id, "--data", data])).code, 0);
  await until("401", async () => (await wire.send(request({ key })).response()).status === 401, { timeoutMs: 5_000 });
  assert.ok(readdirSync(`/proc/${program.process.pid}/fd`).length < 256);
  [wire, ...strangers].forEach((each) => each.destroy());
});
