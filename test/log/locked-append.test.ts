/**
 * Appending under a lock, on a disk that fails, forgets and dies at each call in turn.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Disk } from "../../src/disk/disk.ts";
import { lineWithChecksum } from "../../src/log/checksum.ts";
import { appendLines, type LogUpdate, underLock } from "../../src/log/locked-append.ts";
import { lineBytesMax } from "../../src/log/reader.ts";
import { SeededRandom, seeded } from "../support/seeded-random.ts";
import { type Fault, SimulatedDisk } from "../support/simulated-disk.ts";

const path = "/log/log.jsonl";
const old = lineWithChecksum('{"n":1}') + lineWithChecksum('{"n":2}');
const added = lineWithChecksum('{"n":3}');

function diskWith(content: string | Buffer, random = new SeededRandom(1)): SimulatedDisk {
  const disk = new SimulatedDisk(random);
  disk.place(path, Buffer.from(content));
  return disk;
}

function update(disk: Disk, decide: () => Promise<LogUpdate>): Promise<string | undefined> {
  return underLock(disk, path, async () => appendLines(disk, path, await decide()));
}

/** Appends after the sound lines. */
function append(disk: Disk, line = added): Promise<string | undefined> {
  return update(disk, async () => ({ lines: [line], lengthBytes: old.length }));
}

test("underLock() works while it holds the lock, and releases it afterwards", async () => {
  const disk = diskWith(old).boot();
  const held: boolean[] = [];
  await update(disk, async () => {
    held.push(await disk.isLocked(`${path}.lock`));
    return { lines: [], lengthBytes: old.length };
  });
  held.push(await disk.isLocked(`${path}.lock`));
  assert.deepEqual(held, [true, false]);
});

test("underLock() releases the lock, and nothing is written, if its work throws", async () => {
  const simulated = diskWith(`${old}torn`);
  const disk = simulated.boot();
  await assert.rejects(update(disk, () => Promise.reject(new RangeError("no"))), RangeError);
  assert.equal(simulated.seen(path).toString(), `${old}torn`);
  assert.equal(await disk.isLocked(`${path}.lock`), false);
});

test("underLock() waits until the holder of the lock releases it", async () => {
  const simulated = diskWith(old);
  const disk = simulated.boot();
  const lock = await disk.lock(`${path}.lock`);
  const updating = append(disk);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(simulated.seen(path).toString(), old);
  await lock?.release();
  await updating;
  assert.equal(simulated.kept(path).toString(), old + added);
});

test("underLock() rejects if one process holds the lock too long", async () => {
  const disk = { ...diskWith(old).boot(), lock: async () => undefined };
  await assert.rejects(append(disk), /^Error: Cannot lock \/log\/log\.jsonl: another process has held the lock for 10 s$/);
});

test("appendLines() leaves no empty log if its first append fails", async () => {
  const simulated = new SimulatedDisk(new SeededRandom(1));
  const disk = simulated.boot();
  for (const call of ["append", "sync", "syncFolder"]) {
    simulated.plan = (_, name) => (name !== call ? "none" : name === "append" ? "short" : "error");
    await assert.rejects(update(disk, async () => ({ lines: [added], lengthBytes: 0 })));
    assert.equal(await disk.status(path), undefined, call);
  }
});

test("appendLines() reports its first failure if the empty log cannot be removed either", async () => {
  const simulated = new SimulatedDisk(new SeededRandom(1));
  simulated.plan = (_, name) => (name === "append" ? "short" : name === "remove" ? "error" : "none");
  const updating = update(simulated.boot(), async () => ({ lines: [added], lengthBytes: 0 }));
  await assert.rejects(updating, /the disk may be full/);
});

const tornTails: Readonly<Record<string, Buffer>> = {
  "half a line": Buffer.from(added.slice(0, -5)),
  "a whole line but its newline": Buffer.from(added.slice(0, -1)),
  "a line whose first page never came, with its newline": Buffer.from(`\0\0\0\0${added.slice(4)}`),
  "two damaged lines": Buffer.from("junk\njunk\n"),
  "a blank line": Buffer.from("\n"),
  "more than any line has, without a newline": Buffer.alloc(lineBytesMax + 2, "x"),
};

for (const [name, end] of Object.entries(tornTails)) {
  test(`appendLines() sets the torn tail of a dead writer aside from its first byte on: ${name}`, async () => {
    const disk = diskWith(Buffer.concat([Buffer.from(old), end]));
    await append(disk.boot());
    assert.equal(disk.kept(path).toString(), old + added);
    assert.deepEqual(disk.kept(`${path}.torn`), end);
  });
}

test("appendLines() rejects if the log is shorter than what was read of it, and leaves it alone", async () => {
  const disk = diskWith(old.slice(0, -1));
  await assert.rejects(append(disk.boot()), /another process modified or replaced it/);
  assert.equal(disk.seen(path).toString(), old.slice(0, -1));
});

test("appendLines() rejects if another process replaces the log while it is synced, and leaves the new one alone", async () => {
  for (const [disk, lengthBytes] of [[diskWith(old), old.length], [new SimulatedDisk(new SeededRandom(1)), 0]] as const) {
    disk.plan = (_, name) => {
      if (name === "sync") {
        disk.place(path, Buffer.from("restored\n"));
      }
      return "none";
    };
    const updating = update(disk.boot(), async () => ({ lines: [added], lengthBytes }));
    await assert.rejects(updating, /leads to another file: another process modified or replaced it$/);
    assert.equal(disk.seen(path).toString(), "restored\n");
  }
});

/** What becomes of one update whose `nth` call has that fault; the old lines are there whatever it is. */
async function updateWithFault(random: SeededRandom, nth: number, fault: Fault): Promise<{ calls: number }> {
  const disk = diskWith(`${old}torn`, random);
  disk.plan = (call) => (call === nth ? fault : "none");
  const update = append(disk.boot()).then(
    () => "done",
    () => "rejected",
  );
  const outcome = await Promise.race([update, disk.death.then(() => "dead")]);
  const { calls } = disk;
  const name = `call ${nth}: ${fault}, ${outcome}`;
  const seen = disk.seen(path).toString();
  if (outcome === "rejected" && !seen.endsWith(added)) {
    assert.ok(seen === old || seen === `${old}torn`, `${name}: no half line stays`);
  }
  disk.losePower();
  const kept = disk.kept(path).toString();
  assert.ok(kept.startsWith(old), `${name}: the old lines stay`);
  assert.ok(outcome !== "done" || kept === old + added, `${name}: done is durable`);
  assert.ok(outcome !== "rejected" || kept.endsWith(added) === seen.endsWith(added), `${name}: what was refused stays away`);
  const aside = disk.kept(`${path}.torn`).toString();
  assert.ok(kept.startsWith(`${old}torn`) || outcome === "dead" || aside.includes("torn"), `${name}: nothing is thrown away`);
  return { calls };
}

for (const fault of ["error", "short", "kill", "power"] as const) {
  test(`appendLines() whose Nth call meets "${fault}" is on disk or not there, for every N`, seeded(async (random) => {
    const { calls } = await updateWithFault(new SeededRandom(random.uint32()), 0, "none");
    assert.ok(calls > 10, String(calls));
    for (let nth = 1; nth <= calls; nth++) {
      for (let attempt = 0; attempt < 20; attempt++) {
        await updateWithFault(new SeededRandom(random.uint32()), nth, fault);
      }
    }
  }));
}
