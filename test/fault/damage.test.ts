/**
 * Small logs of several groups are cut at every byte, have single bits flipped, or lines and blocks in other places.
 * Each time either the start is refused, or the intact part is served and the rest is set aside. `check`, which is the
 * rehearsal of a start, says the same.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { checksumBytes, lineWithChecksum } from "../../src/base/checksum.ts";
import { check } from "../../src/cli/check.ts";
import { groupBytesMax } from "../../src/log/group-writer.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { seeded, SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";
import { always } from "../support/store-suites/suite-steps.ts";
import { recordingTerminal } from "../support/terminal.ts";
import { animalLines, animalsOf, changeLines, damageOnce, dataDir, flippedBits, lastGroup, longLines, path, start } from "./damaged-start.ts";

const lines = animalLines;
const log = Buffer.from(lines.join(""));
const fuzzCount = Number(process.env["FLIPS"] ?? 60);

const changeLog = Buffer.from(changeLines.join(""));
const animalsAfter = (count: number): string => animalsOf(changeLines.slice(0, count));

test("a log, cut at any byte, serves what its whole lines come to and sets the rest aside", async () => {
  for (let size = changeLog.length; size >= 0; size--) {
    const content = changeLog.subarray(0, size);
    const wholeBytes = content.lastIndexOf("\n") + 1;
    const count = content.toString().split("\n").length - 1;
    const { served, reports, disk } = await start(content);
    assert.equal(served, animalsAfter(count), `cut at ${size}`);
    assert.deepEqual(disk.kept(path), changeLog.subarray(0, wholeBytes), `cut at ${size}`);
    assert.deepEqual(disk.kept(`${path}.torn`), content.subarray(wholeBytes), `cut at ${size}`);
    assert.equal(reports.length, wholeBytes === size ? 0 : 1, `cut at ${size}`);
    const place = `of ${path}, from line ${count + 1} on,`;
    const torn = size - wholeBytes === 1 ? `the last byte ${place} is` : `the last ${size - wholeBytes} bytes ${place} are`;
    assert.ok(wholeBytes === size || reports[0]?.startsWith(`${torn} an unfinished write`), reports[0]);
  }
});

test("after any flipped bit in a log the start is refused with line and offset, or the last group is set aside", async () => {
  for (const { content, about, index, offset } of flippedBits(changeLog)) {
    const { served, refusal, reports, disk } = await start(content);
    if (index + 1 < lastGroup) {
      assert.ok(refusal?.includes(`line ${index + 1}, byte ${offset}:`), `${about}: ${refusal ?? served}`);
      assert.deepEqual(disk.seen(path), content, `${about}: the file stays as it was`);
    } else {
      assert.equal(served, animalsAfter(index), about);
      assert.match(reports[0] ?? "", /^the last \d+ bytes .* unfinished write/);
      assert.deepEqual(disk.kept(`${path}.torn`), content.subarray(offset), `${about}: kept beside it`);
    }
  }
});

test("the start is refused if any line of a log is missing, doubled, moved or exchanged, and the file stays as it was", async () => {
  const others = changeLines.flatMap((line, index) => [
    ...(index < changeLines.length - 1 ? [[`without line ${index + 1}`, changeLines.toSpliced(index, 1)] as const] : []),
    ...changeLines.flatMap((other, to) => [
      [`line ${index + 1} at ${to + 1}`, changeLines.toSpliced(index, 1).toSpliced(to, 0, line)],
      [`line ${index + 1} at ${to + 1} too`, changeLines.toSpliced(to, 0, line)],
      [`lines ${index + 1} and ${to + 1} exchanged`, changeLines.with(index, other).with(to, line)],
    ] as const),
  ]);
  for (const [title, damaged] of others.filter(([, other]) => other.join("") !== changeLines.join(""))) {
    const content = Buffer.from(damaged.join(""));
    const { refusal, served, disk } = await start(content);
    assert.match(refusal ?? `${title} is served: ${served}`, /^Cannot start: \/pets\/pets\.jsonl is damaged at line \d+, byte \d+: /);
    assert.deepEqual(disk.seen(path), content, title);
  }
});

test("whatever is moved, doubled, exchanged, blank or missing, the start is refused, or the end of the log is set aside", seeded(async (random) => {
  const all = await longLines(random);
  const whole = Buffer.from(all.join(""));
  for (let round = 0; round < fuzzCount; round++) {
    const content = damageOnce(random, whole);
    const { served, disk } = await start(content);
    const intact = disk.kept(path);
    if (served === undefined) {
      assert.deepEqual([intact, disk.names()], [content, [path]], "the file stays as it was");
    } else {
      const count = intact.toString().split("\n").length - 1;
      assert.deepEqual(intact, whole.subarray(0, intact.length), `round ${round}`);
      assert.equal(served, animalsOf(all.slice(0, count)), `round ${round}`);
      const aside = disk.kept(`${path}.torn`);
      assert.deepEqual(Buffer.concat([intact, aside]), content, `round ${round}`);
      // The first line that is set aside may have lost its newline only.
      const isIntact = (line: string): boolean => aside.includes(line) || aside.subarray(1).includes(line.slice(0, -1));
      assert.ok(!all.slice(count).some(isIntact), `round ${round}: no intact line is set aside`);
    }
  }
}));

test("after any two damaged lines the start is refused, unless both are of the last group", async () => {
  for (let first = 1; first < lines.length; first++) {
    for (let second = first + 1; second <= lines.length; second++) {
      const about = `lines ${first} and ${second}`;
      const content = Buffer.from(log);
      for (const number of [first, second]) {
        content[Buffer.byteLength(lines.slice(0, number - 1).join("")) + 3]! ^= 1; // Within the log.
      }
      const { served, refusal, disk } = await start(content);
      if (first < lastGroup) {
        assert.ok(refusal?.includes(`is damaged at line ${first}, byte `), `${about}: ${served}`);
        assert.deepEqual(disk.seen(path), content, `${about}: the file stays as it was`);
      } else {
        assert.equal(served, animalsOf(lines.slice(0, first - 1)), about);
      }
    }
  }
});

function inGroup(group: number, line = ""): string {
  return lineWithChecksum(`${line.slice(0, -checksumBytes).replace(/"group":\d+/, `"group":${group}`)}}`);
}

for (const [title, between] of [
  ["a blank line is before a group", ["\n", lines[4]]],
  ["NUL bytes stand before a group", ["\0\0\n", lines[4]]],
  ["a line has the group of earlier ones", [lines[4], inGroup(2, lines[5])]],
] as const) {
  test(`the start is refused if ${title}, and the file stays as it was`, async () => {
    const content = Buffer.from([...lines.slice(0, 4), ...between, ...lines.slice(title.includes("group of") ? 6 : 5)].join(""));
    const { refusal, disk } = await start(content);
    assert.match(refusal ?? "served", /^Cannot start: \/pets\/pets\.jsonl is damaged at line \d+, byte \d+: /);
    assert.deepEqual(disk.seen(path), content);
  });
}

test("the start is refused for an intact line that a newer release wrote, says so, and leaves the file as it was", async () => {
  const newer = (lines[4] ?? "").slice(0, -checksumBytes).replace(',"group"', ',"colour":"red","group"');
  const content = Buffer.from([...lines.slice(0, 4), lineWithChecksum(`${newer}}`), ...lines.slice(5)].join(""));
  const { refusal, disk } = await start(content);
  assert.match(refusal ?? "served", /^Cannot start: .* line 5, byte \d+: an unknown member: a newer release wrote the line; start that one$/);
  assert.deepEqual(disk.seen(path), content);
});

test("a page of an earlier line in the torn tail does not keep the server from starting", async () => {
  const stale = lines[0] ?? "";
  const { served } = await start(Buffer.concat([log, Buffer.from(`\0\0\0\n${stale}`)]));
  assert.equal(served, animalsOf(lines));
});

test("the start is refused if a line before those of a newer release is damaged, and the file stays as it was", async () => {
  const newer = lines.map((line, index) => {
    const json = line.slice(0, -checksumBytes).replace(',"group"', ',"colour":"red","group"');
    return index + 1 < lastGroup ? line : lineWithChecksum(`${json}}`);
  });
  const content = Buffer.from(newer.join(""));
  content[Buffer.byteLength(newer.slice(0, 5).join("")) + 10]! ^= 1; // In line 6.
  const { refusal, disk } = await start(content);
  assert.match(refusal ?? "served", /^Cannot start: .* is damaged at line 6, byte \d+: .* an intact line at byte \d+ shows/);
  assert.deepEqual(disk.seen(path), content);
});

for (const earlier of ["", "earlier "]) {
  test(`a start with a torn tail that a full disk cannot take fails, ${earlier}files stay as they were, and one with room serves`, async () => {
    const disk = new SimulatedDisk(new SeededRandom(1));
    const [content, aside] = [log.subarray(0, -5), `${path}.torn`];
    disk.place(path, content);
    if (earlier !== "") {
      disk.place(aside, Buffer.from(earlier));
    }
    const names = disk.names();
    disk.plan = () => "short";
    const refusal = /^Error: the last \d+ bytes of \S+, .* cannot be moved to \/pets\/pets\.jsonl\.torn \(only .*\); nothing is lost: .*$/;
    for (let attempt = 0; attempt < 20; attempt++) {
      await assert.rejects(openPetStore({ disk: disk.boot(), dataDir, report: assert.fail }), refusal);
      assert.deepEqual([disk.names(), disk.seen(path)], [names, content], "no attempt uses up the room that somebody frees");
      assert.equal(disk.seen(aside).toString(), earlier);
    }
    disk.plan = () => "none";
    const reports: string[] = [];
    const store = await openPetStore({ disk: disk.boot(), dataDir, report: (message) => void reports.push(message) });
    assert.match(reports.join("\n"), /^[^\n]* it was moved to [^\n]*$/);
    const newPet = { name: "Rex", categoryId: 1n, status: "sold" } as const;
    assert.equal((await store.add(newPet)).id, lines.length);
    const intactBytes = content.lastIndexOf("\n") + 1;
    assert.deepEqual(disk.kept(aside), Buffer.concat([Buffer.from(earlier), content.subarray(intactBytes)]));
    assert.deepEqual(disk.kept(path).subarray(0, intactBytes), content.subarray(0, intactBytes));
  });
}

test("a start and check refuse a file that cannot be read, also in a torn tail, and nothing is put aside", async () => {
  for (const content of [log, log.subarray(0, -5), Buffer.concat([log.subarray(0, -9), Buffer.alloc(200, "x\n")])]) {
    for (let bad = 0; bad < content.length; bad += 7) {
      const disk = new SimulatedDisk(new SeededRandom(1));
      disk.place(path, content);
      disk.spoil(path, bad);
      const refusal = new RegExp(`${path}: EIO: i/o error, read`);
      await assert.rejects(openPetStore({ disk: disk.boot(), dataDir, report: assert.fail }), { code: "EIO", message: refusal });
      const terminal = recordingTerminal();
      assert.equal(await check(["--data", dataDir], terminal, disk.boot()), 1);
      assert.match(terminal.output().stdout, refusal);
      assert.deepEqual([disk.names(), disk.seen(path)], [[path], content]);
    }
  }
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

test("a log of release 1.2 is served, and stays byte for byte, also before the changes that follow", async () => {
  const old = '{"id":1,"name":"Rex","categoryId":1,"status":"available","group":1,"crc":"1db18928"}\n';
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, Buffer.from(old));
  for (const status of ["available", "sold"]) {
    const store = await openPetStore({ disk: disk.boot(), dataDir, report: assert.fail });
    assert.equal(store.get(1)?.json, `{"id":1,"name":"Rex","categoryId":1,"status":"${status}"}`);
    assert.equal(disk.kept(path).toString().slice(0, old.length), old);
    assert.equal(disk.kept(path).length === old.length, status === "available");
    await store.change(1, { status: "sold" }, always);
    await store.close();
  }
});
