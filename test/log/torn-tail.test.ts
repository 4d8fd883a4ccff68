/**
 * Setting aside and replacing files, on a disk that fails, loses unsynced bytes and dies at each call in turn: no content
 * is ever lost, and a reader of a replaced file finds the old content or the new one.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Disk } from "../../src/disk/disk.ts";
import { appendAll } from "../../src/disk/file-bytes.ts";
import { readWholeFile, replaceFile, setFileAside } from "../../src/disk/replace-file.ts";
import { rewriteTail, setTornTailAside } from "../../src/log/torn-tail.ts";
import { SeededRandom, seeded } from "../support/seeded-random.ts";
import { type Fault, SimulatedDisk } from "../support/simulated-disk.ts";

const path = "/kept/file";
const attemptCount = 20;

async function setAside(disk: Disk, offset: number): Promise<string> {
  const file = await disk.openToAppend(path);
  try {
    return await setTornTailAside(disk, path, file, offset);
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
  disk.place(path, Buffer.from("sound.torn tail"));
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

testFaults("a torn tail is in the log or beside it", (disk) => setAside(disk, "sound.".length), ({ outcome, disk }, about) => {
  const log = disk.seen(path).toString();
  const aside = disk.seen(`${path}.torn`).toString();
  assert.ok(log === "sound.torn tail" || aside === "torn tail", `${about}: ${log}, ${aside}`);
  assert.ok(log.startsWith("sound."), about);
  assert.ok(outcome !== "done" || log === "sound.", about);
});

testFaults("a replaced file has the old content or the new one", (disk) => replaceFile(disk, path, ["new ", "content"]),
  ({ outcome, disk }, about) => {
    const content = disk.seen(path).toString();
    assert.ok(content === "new content" || (content === "sound.torn tail" && outcome !== "done"), `${about}: ${content}`);
  },
);

test("setTornTailAside() appends the torn tails of several crashes to one file", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  for (const end of ["first end", "second end"]) {
    disk.place(path, Buffer.from(`sound.${end}`));
    assert.equal(await setAside(disk.boot(), "sound.".length), `${path}.torn`);
    assert.equal(disk.kept(path).toString(), "sound.");
  }
  assert.equal(disk.kept(`${path}.torn`).toString(), "first endsecond end");
});

test("setTornTailAside() moves a long torn tail whole", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const end = Buffer.alloc(2_500_000, "0123456789");
  disk.place(path, Buffer.concat([Buffer.from("sound."), end]));
  await setAside(disk.boot(), "sound.".length);
  assert.ok(disk.kept(`${path}.torn`).equals(end));
  assert.equal(disk.kept(path).toString(), "sound.");
});

test("rewriteTail() writes the last bytes of the sound part over themselves, and no others", async (context) => {
  const simulated = new SimulatedDisk(new SeededRandom(1));
  simulated.place(path, Buffer.from("sound.torn tail"));
  const disk = simulated.boot();
  const file = await disk.openToAppend(path);
  const { mock } = context.mock.method(disk, "overwrite");
  for (const bytesMax of [2, 100]) {
    await rewriteTail(disk, path, file, { lengthBytes: "sound.".length, bytesMax });
  }
  const writes = mock.calls.map(({ arguments: [, bytes, position] }) => [Buffer.from(bytes).toString(), position]);
  assert.deepEqual(writes, [["d.", 4], ["sound.", 0]]);
});

test("setFileAside() moves a damaged file, and replaces an earlier one", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  for (const content of ["first", "second"]) {
    disk.place(path, Buffer.from(content));
    assert.equal(await setFileAside(disk.boot(), path), `${path}.damaged`);
    assert.equal(disk.kept(path).length, 0);
    assert.equal(disk.kept(`${path}.damaged`).toString(), content);
  }
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

test("appendAll() rejects and says how many bytes the disk took", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const file = await disk.boot().openToAppend(path);
  disk.plan = () => "short";
  await assert.rejects(appendAll(file, Buffer.from("0123456789")), /^Error: only \d of 10 bytes could be written; the disk may be full$/);
});

for (const earlier of ["", "earlier"]) {
  test(`setTornTailAside() leaves .torn ${earlier === "" ? "absent" : "as it was"} if the disk is full, however often it is tried`,
    async () => {
      const disk = new SimulatedDisk(new SeededRandom(1));
      disk.place(path, Buffer.from("sound.torn tail"));
      if (earlier !== "") {
        disk.place(`${path}.torn`, Buffer.from(earlier));
      }
      const process = disk.boot();
      for (const call of ["append", "sync", "syncFolder"]) {
        for (let attempt = 0; attempt < 10; attempt++) {
          disk.plan = (_, name) => (name !== call ? "none" : name === "append" ? "short" : "error");
          await assert.rejects(setAside(process, "sound.".length));
          assert.equal(disk.seen(`${path}.torn`).toString(), earlier, `${call}, attempt ${attempt}`);
          assert.equal(await process.status(`${path}.torn`) === undefined, earlier === "");
        }
      }
      disk.plan = () => "none";
      await setAside(process, "sound.".length);
      assert.equal(disk.kept(`${path}.torn`).toString(), `${earlier}torn tail`);
    },
  );
}

test("replaceFile() leaves nothing beside the file if it fails", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, Buffer.from("old"));
  const process = disk.boot();
  for (const call of ["append", "sync", "close", "rename"]) {
    disk.plan = (_, name) => (name !== call ? "none" : name === "append" ? "short" : "error");
    await assert.rejects(replaceFile(process, path, "new content"));
    assert.equal(await process.status(`${path}.new`), undefined, call);
    assert.equal(disk.seen(path).toString(), "old", call);
  }
});

test("setTornTailAside() and replaceFile() report their first failure if they cannot undo what they wrote either", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, Buffer.from("sound.torn tail"));
  const process = disk.boot();
  // Before it writes, replaceFile() removes what a crash may have left.
  let isWriting = false;
  disk.plan = (_, name) => {
    isWriting ||= name === "append";
    return name === "append" ? "short" : name === "remove" && isWriting ? "error" : "none";
  };
  await assert.rejects(setAside(process, "sound.".length), /the disk may be full/);
  isWriting = false;
  await assert.rejects(replaceFile(process, path, ["new content"]), /the disk may be full/);
});
