import assert from "node:assert/strict";
import { test } from "node:test";

import type { Disk } from "../../src/disk/disk.ts";
import { readWholeFile, replaceFile } from "../../src/disk/file-bytes.ts";
import { DryDisk } from "../../src/disk/dry-disk.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";

function newDisk(): SimulatedDisk {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place("/data/a", Buffer.from("0123456789"));
  disk.place("/data/b", Buffer.from("abc"));
  return disk;
}

test("what is written on a dry disk has its length and its name there, and changes nothing", async () => {
  const disk = newDisk();
  const dry: Disk = new DryDisk(disk.boot());
  const file = await dry.openToAppend("/data/a");
  assert.equal(await file.append(Buffer.from("xyz")), 3);
  assert.deepEqual(await file.stat(), { isInPlace: true, byteCount: 13 });
  await file.truncate(4);
  assert.deepEqual(await file.stat(), { isInPlace: true, byteCount: 4 });
  await replaceFile(dry, "/data/c", ["new"]);
  await dry.rename("/data/a", "/data/d");
  await dry.remove("/data/b");
  const there = await Promise.all(["a", "b", "c", "c.new", "d"].map((name) => dry.exists(`/data/${name}`)));
  assert.deepEqual(there, [false, false, true, false, true]);
  assert.equal(await dry.openToRead("/data/b"), undefined);
  assert.deepEqual(disk.names(), newDisk().names());
  assert.deepEqual(["/data/a", "/data/b"].map((path) => String(disk.seen(path))), ["0123456789", "abc"]);
});

test("a file is read as it was when it was opened, whatever is appended to it meanwhile", async () => {
  const disk = newDisk();
  const dry = new DryDisk(disk.boot());
  const file = await dry.openToAppend("/data/b");
  disk.append("/data/b", "def");
  assert.deepEqual([file.size(), await file.stat()], [3, { isInPlace: true, byteCount: 3 }]);
  assert.equal(String(await readWholeFile(dry, "/data/a")), "0123456789");
});

test("a lock is tried and released at once, and one that another process holds is told", async () => {
  const disk = newDisk();
  const dry = new DryDisk(disk.boot());
  assert.ok(await dry.lock("/data/server.lock"));
  assert.deepEqual([dry.isHeld, await dry.isLocked("/data/server.lock")], [false, false]);
  assert.ok(await disk.boot().lock("/data/server.lock"));
  const beside = new DryDisk(disk.boot());
  assert.ok(await beside.lock("/data/server.lock"));
  assert.equal(beside.isHeld, true);
});
