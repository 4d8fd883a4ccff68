/**
 * Settling the end of a log, and replacing files, on a disk that fails, loses unsynced bytes and dies at each call in
 * turn: no content is ever lost, the next start works, and a reader of a replaced file finds the old content or the new.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Disk } from "../../src/disk/disk.ts";
import { replaceFile } from "../../src/disk/file-bytes.ts";
import { settleEnd } from "../../src/log/settle-end.ts";
import { seeded, SeededRandom } from "../support/seeded-random.ts";
import { type Fault, SimulatedDisk } from "../support/simulated-disk.ts";

const path = "/kept/file";
const intact = "intact.";
const attemptCount = 20;

/** As a start does whose log begins with `intact`. */
async function settle(disk: Disk, reports: string[] = []): Promise<void> {
  const file = await disk.openToAppend(path);
  const whole = { lengthBytes: intact.length, lineCount: 1 };
  const tornBytes = file.size() - intact.length;
  const end = tornBytes > 0 ? { kind: "torn", ...whole, tornBytes, reason: "no newline" } as const : { kind: "whole", ...whole } as const;
  const report = (message: string): void => void reports.push(message);
  try {
    await settleEnd({ disk, path, file, end, groupBytesMax: 1_024, tornEffect: "the rest is served", report });
  } finally {
    await file.close();
  }
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
function testFaults(title: string, work: (disk: Disk) => Promise<unknown>, check: (outcome: Outcome, about: string) => unknown): void {
  for (const fault of ["error", "short", "kill", "power"] as const) {
    test(`${title}, whichever call meets "${fault}"`, seeded(async (random) => {
      const { disk: { calls } } = await withFault(work, "none", 0, random.uint32());
      assert.ok(calls > 4, String(calls));
      for (let nth = 1; nth <= calls; nth++) {
        for (let attempt = 0; attempt < attemptCount; attempt++) {
          const result = await withFault(work, fault, nth, random.uint32());
          if (random.oneIn(2)) {
            result.disk.losePower();
          }
          await check(result, `call ${nth}, ${result.outcome}`);
        }
      }
    }));
  }
}

testFaults("a torn tail is in the log or beside it, and the next start works", settle, async ({ outcome, disk }, about) => {
  const log = disk.seen(path).toString();
  const aside = disk.seen(`${path}.torn`).toString();
  assert.ok(log === "intact.torn tail" || aside.endsWith("torn tail"), `${about}: ${log}, ${aside}`);
  assert.ok(log.startsWith(intact), about);
  assert.ok(outcome !== "done" || log === intact, about);
  disk.plan = () => "none";
  await settle(disk.boot());
  assert.equal(disk.kept(path).toString(), intact, about);
  assert.ok(disk.kept(`${path}.torn`).includes("torn tail"), about);
});

testFaults("a replaced file has the old content or the new one", (disk) => replaceFile(disk, path, ["new ", "content"]),
  ({ outcome, disk }, about) => {
    const content = disk.seen(path).toString();
    assert.ok(content === "new content" || (content === "intact.torn tail" && outcome !== "done"), `${about}: ${content}`);
  },
);

test("settleEnd() appends the torn tails of several crashes to one file, long ones too, and says so", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const ends = ["first end".repeat(200_000), "second end"];
  const reports: string[] = [];
  for (const end of ends) {
    disk.place(path, Buffer.from(intact + end));
    await settle(disk.boot(), reports);
    assert.equal(disk.kept(path).toString(), intact);
  }
  assert.equal(disk.kept(`${path}.torn`).toString(), ends.join(""));
  assert.equal(reports[1], "the last 10 bytes of /kept/file, from line 2 on, are an unfinished write (no newline); " +
    "it was moved to /kept/file.torn, and the rest is served");
});

test("replaceFile() ignores a part that a crash left", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(`${path}.new`, Buffer.from("half a repl"));
  await replaceFile(disk.boot(), path, ["whole"]);
  assert.equal(disk.kept(path).toString(), "whole");
  assert.equal(disk.kept(`${path}.new`).length, 0);
});

test("settleEnd() writes nothing if another process has changed the file since it was read", async () => {
  for (const change of [
    (disk: SimulatedDisk) => disk.append(path, "x"),
    (disk: SimulatedDisk) => disk.place(path, Buffer.from("intact.torn tail")),
  ]) {
    const disk = new SimulatedDisk(new SeededRandom(1));
    disk.place(path, Buffer.from("intact.torn tail"));
    let changed = "";
    disk.plan = (_, name) => {
      if (name === "look") {
        change(disk);
        changed = disk.seen(path).toString();
      }
      return "none";
    };
    await assert.rejects(settle(disk.boot()), /\(another process modified or replaced it\); nothing is lost/);
    assert.deepEqual([disk.seen(path).toString(), disk.names()], [changed, [path]]);
  }
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
