/**
 * A trial disk is used as a copy of the disk is: both give the same, and the disk below the trial stays as it was.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Disk, DiskFile } from "../../src/disk/disk.ts";
import { readWholeFile } from "../../src/disk/file-bytes.ts";
import { OverlayDisk } from "../../src/disk/overlay-disk.ts";
import { seeded, SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";

const paths = ["/data/a", "/data/b", "/data/c"];

function newDisk(): SimulatedDisk {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place("/data/a", Buffer.from("0123456789"));
  disk.place("/data/b", Buffer.from("abc"));
  return disk;
}

/** What is seen of each file, in whatever way. */
async function seenOn(disk: Disk): Promise<unknown[]> {
  return Promise.all(paths.map(async (path) => [await disk.exists(path), String(await readWholeFile(disk, path))]));
}

async function changeAtRandom(disks: readonly Disk[], random: SeededRandom): Promise<void> {
  const [path, other] = [random.pick(paths), random.pick(paths)];
  const [action, size, place] = [random.integer(0, 4), random.integer(0, 12), random.integer(0, 12)];
  for (const disk of disks) {
    if (action === 0) {
      await disk.remove(path);
    } else if (action === 1 && path !== other && (await disk.exists(path))) {
      await disk.rename(path, other);
    } else if (action > 1) {
      const file = await disk.openToAppend(path);
      const position = Math.min(place, file.size());
      const bytes = Buffer.from("xyzxyzxyzxyz".slice(0, size));
      const over = bytes.subarray(0, file.size() - position);
      await (action === 2 ? file.append(bytes) : action === 3 ? file.truncate(position) : file.overwrite(over, position));
      await file.close();
    }
  }
}

test("what is written on a trial disk is read there as it was written, and nowhere else", seeded(async (random) => {
  for (let round = 0; round < 50; round++) {
    const [below, copy] = [newDisk(), newDisk()];
    const [trial, real] = [new OverlayDisk(below.boot()), copy.boot()];
    for (let change = 0; change < 12; change++) {
      await changeAtRandom([trial, real], random);
      assert.deepEqual(await seenOn(trial), await seenOn(real));
    }
    assert.deepEqual(below.names(), newDisk().names());
    assert.deepEqual(["/data/a", "/data/b"].map((path) => String(below.seen(path))), ["0123456789", "abc"]);
  }
}));

test("a file is read as it was when it was first opened, whatever is appended to it meanwhile", async () => {
  const disk = newDisk();
  const trial = new OverlayDisk(disk.boot());
  const file = await trial.openToAppend("/data/b");
  disk.append("/data/b", "def");
  assert.equal(String(await readWholeFile(trial, "/data/b")), "abc");
  assert.deepEqual(await file.stat(), { isInPlace: true, byteCount: 3 });
});

test("a file that a server replaces meanwhile, as it does with limits.json, is read as the one that was opened", async () => {
  const disk = newDisk();
  const below = disk.boot();
  const openToRead: Disk["openToRead"] = async (path) => {
    const file = await below.openToRead(path);
    disk.place(path, Buffer.from("another"));
    return file;
  };
  assert.equal(String(await readWholeFile(new OverlayDisk({ ...below, openToRead }), "/data/b")), "abc");
});

test("a full disk takes as little as it would, and leaves nothing", async () => {
  const disk = newDisk();
  const trial = new OverlayDisk(disk.boot());
  const file = await trial.openToAppend("/data/c");
  disk.plan = (_, name) => (name === "append" ? "short" : "none");
  const count = await file.append(Buffer.alloc(100));
  assert.ok(count < 100);
  assert.equal((await file.stat()).byteCount, count);
  assert.deepEqual(disk.names(), ["/data/a", "/data/b"]);
});

test("a lock is tried and released at once, and one that another process holds is told", async () => {
  const disk = newDisk();
  const trial = new OverlayDisk(disk.boot());
  assert.ok(await trial.lock("/data/server.lock"));
  assert.deepEqual([trial.isHeld, await trial.isLocked("/data/server.lock")], [false, false]);
  assert.ok(await disk.boot().lock("/data/server.lock"));
  assert.ok(await new OverlayDisk(disk.boot()).lock("/data/server.lock"));
  const beside = new OverlayDisk(disk.boot());
  await beside.lock("/data/server.lock");
  assert.equal(beside.isHeld, true);
});

test("all that a start would make takes its place on the disk at once, until the lock is released", async () => {
  const disk = newDisk();
  const below = disk.boot();
  let openCount = 0;
  const counting = (file: DiskFile): DiskFile => {
    openCount++;
    return { ...file, close: () => file.close().finally(() => openCount--) };
  };
  const openToAppend: Disk["openToAppend"] = async (path) => counting(await below.openToAppend(path));
  const lockedNames = new Set<string>();
  const lock: Disk["lock"] = async (path) => {
    const held = await below.lock(path);
    lockedNames.add(path);
    return held && { ...held, release: () => held.release().finally(() => lockedNames.delete(path)) };
  };
  const trial = new OverlayDisk({ ...below, openToAppend, lock });
  const held = await trial.lock("/data/server.lock");
  for (const name of ["c", "d"]) {
    await (await trial.openToAppend(`/data/${name}`)).close();
  }
  assert.deepEqual([openCount, lockedNames.size, lockedNames.has("/data/server.lock")], [2, 1, false]);
  await trial.remove("/data/c");
  assert.equal(openCount, 1);
  await held?.release();
  assert.deepEqual([openCount, lockedNames.size], [0, 0]);
});

test("what the disk would not let go is not removed and not replaced", async () => {
  const mustBeRemovable = async (): Promise<void> => Promise.reject(new Error("EPERM"));
  const trial = new OverlayDisk({ ...newDisk().boot(), mustBeRemovable });
  await assert.rejects(trial.remove("/data/a"), /EPERM/);
  await assert.rejects(trial.rename("/data/a", "/data/b"), /EPERM/);
});
