/**
 * Setting aside and replacing files, on a disk that fails, loses unsynced bytes and dies at each call in turn: no content
 * is ever lost, and a reader of a replaced file finds the old content or the new one.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Disk } from "../../src/disk/disk.ts";
import { readWholeFile, replaceFile } from "../../src/disk/file-bytes.ts";
import { Appender } from "../../src/log/appender.ts";
import { Tail } from "../../src/log/tail.ts";
import { seeded, SeededRandom } from "../support/seeded-random.ts";
import { type Fault, SimulatedDisk } from "../support/simulated-disk.ts";

const path = "/kept/file";
const attemptCount = 20;

/** As a start does whose log is intact up to `lengthBytes`. */
async function setAside(disk: Disk, lengthBytes: number): Promise<void> {
  const file = await disk.openToAppend(path);
  const torn = { bytes: file.size() - lengthBytes, text: "torn" };
  const report = (): void => undefined;
  const tail = await Tail.read({ disk, path, file, lengthBytes, torn, groupBytesMax: 1_024, report });
  const appender = new Appender({ file, path, lengthBytes, tail, report });
  const outcome = await appender.append(Buffer.alloc(0));
  await appender.close();
  assert.equal(outcome.kind, "appended");
}

interface Outcome {
  readonly outcome: "done" | "rejected" | "dead";
  readonly disk: SimulatedDisk;
}

/** The work on a disk whose `nth` call has that fault. */
async function withFault(work: (disk: Disk) => Promise<unknown>, fault: Fault, nth: number, seed: number): Promise<Outcome> {
  const disk = new SimulatedDisk(new SeededRandom(seed));
  disk.place(path, Buffer.from("intact.torn tail"));
  disk.plan = (call) => (call === nth ? fault : "none");
  const working = work(disk.boot()).then(
    () => "done" as const,
    () => "rejected" as const,
  );
  return { outcome: await Promise.race([working, disk.death.then(() => "dead" as const)]), disk };
}

/** Every call of the work fails once in every way; what is promised has to hold before and after a loss of power. */
function testFaults(title: string, work: (disk: Disk) => Promise<unknown>, check: (outcome: Outcome, about: string) => void): void {
  for (const fault of ["error", "short", "kill", "power"] as const) {
    test(`${title}, whichever call meets "${fault}"`, seeded(async (random) => {
      const { disk: { calls } } = await withFault(work, "none", 0, random.uint32());
      assert.ok(calls > 4, String(calls));
      for (let nth = 1; nth <= calls; nth++) {
        for (let attempt = 0; attempt < attemptCount; attempt++) {
          const result = await withFault(work, fault, nth, random.uint32());
          check(result, `call ${nth}, ${result.outcome}`);
          result.disk.losePower();
          check(result, `call ${nth}, ${result.outcome}, after a loss of power`);
        }
      }
    }));
  }
}

testFaults("a torn tail is in the log or beside it", (disk) => setAside(disk, "intact.".length), ({ outcome, disk }, about) => {
  const log = disk.seen(path).toString();
  const aside = disk.seen(`${path}.torn`).toString();
  assert.ok(log === "intact.torn tail" || aside === "torn tail", `${about}: ${log}, ${aside}`);
  assert.ok(log.startsWith("intact."), about);
  assert.ok(outcome !== "done" || log === "intact.", about);
});

testFaults("a replaced file has the old content or the new one", (disk) => replaceFile(disk, path, ["new ", "content"]),
  ({ outcome, disk }, about) => {
    const content = disk.seen(path).toString();
    assert.ok(content === "new content" || (content === "intact.torn tail" && outcome !== "done"), `${about}: ${content}`);
  },
);

test("Tail.quarantine() appends the torn tails of several crashes to one file, long ones too", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const ends = ["first end".repeat(200_000), "second end"];
  for (const end of ends) {
    disk.place(path, Buffer.from(`intact.${end}`));
    await setAside(disk.boot(), "intact.".length);
    assert.equal(disk.kept(path).toString(), "intact.");
  }
  assert.equal(disk.kept(`${path}.torn`).toString(), ends.join(""));
});

test("replaceFile() ignores a part that a crash left", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(`${path}.new`, Buffer.from("half a repl"));
  await replaceFile(disk.boot(), path, ["whole"]);
  assert.equal(disk.kept(path).toString(), "whole");
  assert.equal(disk.kept(`${path}.new`).length, 0);
});

test("readWholeFile() reads all of a file, also in short reads, and returns undefined if there is none", async () => {
  const simulated = new SimulatedDisk(new SeededRandom(1));
  simulated.place(path, Buffer.from("all of it"));
  const disk = simulated.boot();
  const stingy: Disk = {
    ...disk,
    openToRead: async (name) => {
      const file = await disk.openToRead(name);
      return file && { ...file, read: (target, position) => file.read(target.subarray(0, 2), position) };
    },
  };
  assert.equal((await readWholeFile(stingy, path))?.toString(), "all of it");
  assert.equal(await readWholeFile(stingy, `${path}.no`), undefined);
});

test("Tail.quarantine() leaves .torn as it was if the disk is full, however often it is tried", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, Buffer.from("intact.torn tail"));
  disk.place(`${path}.torn`, Buffer.from("earlier"));
  const process = disk.boot();
  for (const call of ["append", "sync", "syncFolder"]) {
    for (let attempt = 0; attempt < 10; attempt++) {
      disk.plan = (_, name) => (name !== call ? "none" : name === "append" ? "short" : "error");
      await assert.rejects(setAside(process, "intact.".length));
      assert.equal(disk.seen(`${path}.torn`).toString(), "earlier", `${call}, attempt ${attempt}`);
    }
  }
  disk.plan = () => "none";
  await setAside(process, "intact.".length);
  assert.equal(disk.kept(`${path}.torn`).toString(), "earliertorn tail");
});

test("replaceFile() leaves nothing beside the file if it fails", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, Buffer.from("old"));
  const process = disk.boot();
  for (const call of ["append", "sync", "close", "rename"]) {
    disk.plan = (_, name) => (name !== call ? "none" : name === "append" ? "short" : "error");
    await assert.rejects(replaceFile(process, path, "new content"));
    assert.equal(await process.exists(`${path}.new`), false, call);
    assert.equal(disk.seen(path).toString(), "old", call);
  }
});
