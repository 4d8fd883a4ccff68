/**
 * A small log of several groups, cut at every byte of its last lines and with single bits flipped: each time either
 * the start is refused, or the sound part is served and the rest is set aside. `check` says the same (check.test.ts).
 */

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { checksumBytes, lineWithChecksum } from "../../src/base/checksum.ts";
import { groupBytesMax } from "../../src/log/group-writer.ts";
import { checkPetLog } from "../../src/store/load-pets.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";
import { dataDir, flippedBits, path, start } from "./damaged-start.ts";

const groupLengths = [1, 3, 2, 3];
const lastGroupId = 7; // 1 + 3 + 2 animals are before it.

let log: Buffer = Buffer.alloc(0);
let lines: string[] = [];

before(async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const store = await openPetStore({ disk: disk.boot(), dataDir, report: assert.fail });
  for (const length of groupLengths) {
    const names = Array.from({ length }, (_, index) => `Ø${index} "x"`);
    await Promise.all(names.map((name) => store.add({ name, categoryId: -5n, status: "sold" })));
  }
  await store.close();
  log = disk.seen(path);
  lines = log.toString().split(/(?<=\n)/);
  assert.ok(lines[lastGroupId - 1]?.includes(`"id":${lastGroupId}`) && lines[lastGroupId]?.includes(`"group":${lastGroupId}`));
});

function textOf(count: number): string {
  return `[${lines.slice(0, count).map((line) => line.replace(/,"group".*\n/, "}")).join(",")}]`;
}

test("an undamaged log is served whole, and nothing is reported", async () => {
  const { served, reports } = await start(log);
  assert.equal(served, textOf(lines.length));
  assert.deepEqual(reports, []);
});

test("a log cut at any byte of its last three lines serves the whole lines and sets the rest aside", async () => {
  for (let size = log.length; size >= Buffer.byteLength(lines.slice(0, -3).join("")); size--) {
    const content = log.subarray(0, size);
    const wholeBytes = content.lastIndexOf("\n") + 1;
    const count = content.toString().split("\n").length - 1;
    const { served, reports, disk } = await start(content);
    assert.equal(served, textOf(count), `cut at ${size}`);
    assert.deepEqual(disk.kept(path), log.subarray(0, wholeBytes), `cut at ${size}`);
    assert.deepEqual(disk.kept(`${path}.torn`), content.subarray(wholeBytes), `cut at ${size}`);
    assert.equal(reports.length, wholeBytes === size ? 0 : 1);
    const place = `of ${path}, from line ${count + 1} on,`;
    const torn = size - wholeBytes === 1 ? `the last byte ${place} is` : `the last ${size - wholeBytes} bytes ${place} are`;
    assert.ok(wholeBytes === size || reports[0]?.startsWith(`${torn} an unfinished write`), reports[0]);
  }
});

test("after any flipped bit the start is refused with line and offset, or the last group is set aside", async () => {
  for (const { content, about, index, offset } of flippedBits(log)) {
    const { served, refusal, reports, disk } = await start(content);
    if (index + 1 < lastGroupId) {
      assert.ok(refusal?.includes(`line ${index + 1}, byte ${offset}:`), `${about}: ${refusal ?? served}`);
      assert.deepEqual(disk.seen(path), content, `${about}: the file stays as it was`);
    } else {
      assert.equal(served, textOf(index), about);
      assert.match(reports[0] ?? "", /^the last \d+ bytes .* unfinished write/);
      assert.deepEqual(disk.kept(`${path}.torn`), content.subarray(offset), `${about}: kept beside it`);
    }
  }
});

test("after any two damaged lines the start is refused, unless both are of the last group", async () => {
  for (let first = 1; first < lines.length; first++) {
    for (let second = first + 1; second <= lines.length; second++) {
      const about = `lines ${first} and ${second}`;
      const content = Buffer.from(log);
      for (const number of [first, second]) {
        content[Buffer.byteLength(lines.slice(0, number - 1).join("")) + 3]! ^= 1; // Within the log.
      }
      const { served, refusal, disk } = await start(content);
      if (first < lastGroupId) {
        assert.ok(refusal?.includes(`is damaged at line ${first}, byte `), `${about}: ${served}`);
        assert.deepEqual(disk.seen(path), content, `${about}: the file stays as it was`);
      } else {
        assert.equal(served, textOf(first - 1), about);
      }
    }
  }
});

function inGroup(group: number, line = ""): string {
  return lineWithChecksum(`${line.slice(0, -checksumBytes).replace(/"group":\d+/, `"group":${group}`)}}`);
}

const wrongLogs: readonly (readonly [string, (lines: readonly string[]) => readonly string[]])[] = [
  ["a line is missing", (all) => all.filter((_, index) => index !== 4)],
  ["the last line but one is missing", (all) => all.filter((_, index) => index !== 7)],
  ["a line is doubled", (all) => [...all.slice(0, 5), ...all.slice(4)]],
  ["the last line is doubled", (all) => [...all, ...all.slice(-1)]],
  ["two lines are exchanged", (all) => [...all.slice(0, 7), ...all.slice(8), ...all.slice(7, 8)]],
  ["a blank line is before a group", (all) => [...all.slice(0, 4), "\n", ...all.slice(4)]],
  ["NUL bytes stand before a group", (all) => [...all.slice(0, 4), "\0\0\n", ...all.slice(4)]],
  ["a line has the group of earlier ones", (all) => [...all.slice(0, 5), inGroup(2, all[5]), ...all.slice(6)]],
];

for (const [title, change] of wrongLogs) {
  test(`the start is refused if ${title}, and the file stays as it was`, async () => {
    const content = Buffer.from(change(lines).join(""));
    const { refusal, disk } = await start(content);
    assert.match(refusal ?? "served", /^Cannot start: \/pets\/pets\.jsonl is damaged at line \d+, byte \d+: /);
    assert.deepEqual(disk.seen(path), content);
  });
}

test("the start is refused for a sound line that a newer release wrote, says so, and leaves the file as it was", async () => {
  const newer = (lines[4] ?? "").slice(0, -checksumBytes).replace(',"group"', ',"colour":"red","group"');
  const content = Buffer.from([...lines.slice(0, 4), lineWithChecksum(`${newer}}`), ...lines.slice(5)].join(""));
  const { refusal, disk } = await start(content);
  assert.match(refusal ?? "served", /^Cannot start: .* line 5, byte \d+: an unknown member: a newer release wrote the line; start that one$/);
  assert.deepEqual(disk.seen(path), content);
});

test("a page of an earlier line in the torn tail does not keep the server from starting", async () => {
  const stale = lines[0] ?? "";
  const { served } = await start(Buffer.concat([log, Buffer.from(`\0\0\0\n${stale}`)]));
  assert.equal(served, textOf(lines.length));
});

test("the start is refused if a line before those of a newer release is damaged, and the file stays as it was", async () => {
  const newer = lines.map((line, index) => {
    const json = line.slice(0, -checksumBytes).replace(',"group"', ',"colour":"red","group"');
    return index + 1 < lastGroupId ? line : lineWithChecksum(`${json}}`);
  });
  const content = Buffer.from(newer.join(""));
  content[Buffer.byteLength(newer.slice(0, 5).join("")) + 10]! ^= 1; // In line 6.
  const { refusal, disk } = await start(content);
  assert.match(refusal ?? "served", /^Cannot start: .* is damaged at line 6, byte \d+: .* a sound line at byte \d+ shows/);
  assert.deepEqual(disk.seen(path), content);
});

test("with a torn tail that a full disk cannot take, the rest is served, and the tail is set aside once there is room", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, log.subarray(0, -5));
  disk.plan = () => "short";
  const reports: string[] = [];
  const store = await openPetStore({ disk: disk.boot(), dataDir, report: (message) => void reports.push(message) });
  assert.match(reports[0] ?? "", /cannot be moved/);
  const newPet = { name: "Rex", categoryId: 1n, status: "sold" } as const;
  for (let attempt = 0; attempt < 20; attempt++) {
    await assert.rejects(store.add(newPet), { name: "StorageUnavailableError" });
    assert.equal(disk.seen(`${path}.torn`).length, 0, "no attempt uses up the room that somebody frees");
  }
  assert.equal(store.animalCount, lines.length - 1);
  disk.plan = () => "none";
  assert.equal((await store.add(newPet)).id, lines.length);
  const torn = disk.kept(`${path}.torn`);
  assert.ok(torn.length > 0);
  assert.equal((await store.add(newPet)).id, lines.length + 1);
  assert.deepEqual(disk.kept(`${path}.torn`), torn, "the tail is set aside once");
  assert.equal(disk.kept(path).toString().match(/"name":"Rex".*\n/g)?.length, 2);
});

test("check beside a running server does not report a write under way as damage", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, log.subarray(0, -5));
  const reading = disk.boot();
  // The write is finished, and another group written, between the first read of the check and the next.
  let reads = 0;
  const observed = {
    ...reading,
    openToRead: async () => {
      const file = await reading.openToRead(path);
      assert.ok(file);
      const grown = [log.subarray(0, -5), log];
      return {
        ...file,
        size: () => (reads === 0 ? log.length - Buffer.byteLength(lines.slice(4).join("")) - 5 : log.length),
        read: async (target: Uint8Array, position: number) =>
          (grown[reads++ > 0 ? 1 : 0] ?? log).subarray(position).copy(target),
      };
    },
  };
  assert.match(await checkPetLog(observed, dataDir, true), /a write is under way at its end, or has failed/);
});

test("a damaged end that is longer than a group stops the start, and the file stays as it was", async () => {
  const [first = ""] = lines;
  const members = first.slice(0, -checksumBytes).replace('{"id":1,', "").replace(',"group":1', "");
  const singles = Array.from({ length: 15_000 }, (_, index) => {
    return lineWithChecksum(`{"id":${index + 1},${members},"group":${index + 1}}`);
  });
  const content = Buffer.from(singles.join(""));
  const damaged = Buffer.from(content);
  damaged.fill(0, Buffer.byteLength(singles.slice(0, 1_000).join("")));
  assert.ok(damaged.length - damaged.indexOf(0) > groupBytesMax);
  const { refusal, disk } = await start(damaged);
  assert.match(refusal ?? "served", /^Cannot start: .* is damaged at line 1001, byte \d+: .* a crash damages 1048576 at most$/);
  assert.deepEqual(disk.seen(path), damaged);
});
