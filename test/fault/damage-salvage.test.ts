/**
 * What a salvage makes of a damaged log of animals and changes: a log that is served, with all that is sound, and with
 * no animal that has another's id. The command is tested in test/cli/salvage.test.ts.
 */

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { hasChecksum, lineWithChecksum, viewOf } from "../../src/base/checksum.ts";
import { chunkBytesMax } from "../../src/log/chunks.ts";
import { type PetStatus, petStatuses } from "../../src/pets/pet.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { PetFileLines } from "../../src/moving/pet-file-lines.ts";
import { salvagePets } from "../../src/moving/salvage-pets.ts";
import { memoryFile } from "../support/memory-file.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";
import { dataDir, flippedBits, path } from "./damaged-start.ts";

const rex = { name: "Ø \"x\"", categoryId: -5n, status: "available" } as const;

let log: Buffer = Buffer.alloc(0);
let lines: string[] = [];

before(async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const store = await openPetStore({ disk: disk.boot(), dataDir, report: assert.fail });
  const change = (id: number, status: PetStatus, hash?: string) => store.changeStatus(id, { status, from: petStatuses }, hash);
  await Promise.all([store.add(rex), store.add(rex)]);
  await Promise.all([change(1, "pending", "c".repeat(22)), store.add(rex), store.add(rex, "a".repeat(22))]);
  await change(2, "sold");
  await Promise.all([change(3, "sold"), change(1, "sold"), change(2, "pending")]);
  await store.close();
  log = disk.seen(path);
  lines = log.toString().split(/(?<=\n)/);
  assert.deepEqual(lines.map((line) => line.includes("name")), [true, true, false, true, true, false, false, false, false]);
});

interface Salvaged {
  readonly content: Buffer;
  readonly served: string;
  readonly nextId: number;
  readonly reports: readonly string[];
}

/** Salvages, and opens what was written, which has to be sound. */
async function salvage(damaged: Buffer): Promise<Salvaged> {
  const reports: string[] = [];
  const pieces: Buffer[] = [];
  for await (const piece of salvagePets(memoryFile(damaged), new PetFileLines(), (message) => void reports.push(message))) {
    pieces.push(Buffer.from(piece));
  }
  const content = Buffer.concat(pieces);
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, content);
  const store = await openPetStore({ disk: disk.boot(), dataDir, report: assert.fail });
  const served = String(store.list({ after: 0, limit: 100, status: undefined }).json);
  const { id } = await store.add(rex);
  await store.close();
  return { content, served, nextId: id, reports };
}

/** What the lines but those at `lost` come to. */
function animalsWithout(lost: readonly number[]): string {
  const animals = new Map<number, object>();
  for (const text of lines.filter((_, index) => !lost.includes(index))) {
    const { line: _line, group: _group, once: _once, at: _at, crc: _crc, ...members } = JSON.parse(text) as { id: number; [name: string]: unknown };
    if (members["name"] !== undefined || animals.has(members.id)) {
      animals.set(members.id, { ...animals.get(members.id), ...members });
    }
  }
  return JSON.stringify([...animals.values()]);
}

test("of a sound log nothing is left out, and hashes keep their times", async () => {
  const { content, served, nextId, reports } = await salvage(log);
  assert.deepEqual([served, nextId, reports], [animalsWithout([]), 5, []]);
  assert.deepEqual(content.toString().match(/"once":"\w+","at":\d+/g), log.toString().match(/"once":"\w+","at":\d+/g));
  assert.deepEqual((await salvage(content)).content, content);
});

test("after any flipped bit one line is left out, and changes of its animal", async () => {
  for (const { content, about, index, offset } of flippedBits(log)) {
    const newlineAt = offset + Buffer.byteLength(lines[index]!) - 1; // The index is of a line.
    const isNewline = content[newlineAt] !== log[newlineAt];
    const { served, nextId, reports } = await salvage(content);
    assert.equal(served, animalsWithout(isNewline ? [] : [index]), about);
    assert.equal(reports.some((report) => new RegExp(`line ${index + 1}, byte ${offset}\\b`).test(report)), !isNewline, reports.join());
    // Of a change that is lost after the last animal nobody knows that it was no animal.
    assert.equal(nextId, !isNewline && index >= 5 && index < 8 ? 6 : 5, about);
  }
});

test("after any two lines are damaged, all others are there, and no id of an animal is given again", async () => {
  for (let first = 0; first < lines.length; first++) {
    for (let second = first + 1; second < lines.length; second++) {
      const damaged = lines.map((line, index) => (index === first || index === second ? line.replace('"id"', '"ID"') : line));
      const { served, nextId } = await salvage(Buffer.from(damaged.join("")));
      assert.equal(served, animalsWithout([first, second]), `${first} ${second}`);
      assert.ok(nextId >= 5 && nextId <= 7, `${first} ${second}: ${nextId}`);
    }
  }
});

test("a log cut at any byte keeps its whole lines, also one without its newline, and a log without beginning the others", async () => {
  for (let size = 0; size <= log.length; size++) {
    const lost = [...lines.keys()].filter((index) => bytesBefore(index + 1) > size + 1);
    assert.equal((await salvage(log.subarray(0, size))).served, animalsWithout(lost), `${size}`);
  }
  for (let from = 1; from < lines.length; from++) {
    const { served } = await salvage(log.subarray(bytesBefore(from)));
    assert.equal(served, animalsWithout([...lines.keys()].slice(0, from)), `${from}`);
  }
});

test("what is left out is said: lines, bytes and ids", async () => {
  const [first, , change] = lines as [string, string, string];
  const again = lineWithChecksum('{"id":3,"name":"Tom","categoryId":1,"status":"sold","line":10,"group":10}');
  const rows: readonly (readonly [title: string, damaged: readonly string[], reports: readonly string[], nextId: number])[] = [
    ["the first line", lines.with(0, "x\n"), [
      "line 1, byte 0: damaged or missing", "id 1, which no animal will have",
      `line 3, byte ${bytesBefore(2) - first.length + 1}: it changes animal 1, which is left out`,
      `line 8, byte ${bytesBefore(7) - first.length + 1}: it changes animal 1, which is left out`,
    ], 5],
    ["a group's first lines and a long hole", lines.toSpliced(2, 2, "\0".repeat(9_000)), [
      `lines 3 to 4, byte ${bytesBefore(2)}: damaged or missing`, "id 3, which no animal will have",
      `line 7, byte ${bytesBefore(6) - bytesBefore(4) + bytesBefore(2) + 9_000}: it changes animal 3, which is left out`,
    ], 5],
    ["lines that are missing", lines.toSpliced(3, 2), [
      `lines 4 to 5, byte ${bytesBefore(3)}: damaged or missing`, "id 3, which no animal will have",
      `line 7, byte ${bytesBefore(6) - bytesBefore(5) + bytesBefore(3)}: it changes animal 3, which is left out`, "id 4, which no animal will have",
    ], 5],
    ["the last lines, which are animals", lines.slice(0, 5).with(3, "x\n").with(4, "y".repeat(200)), [
      `the last 202 bytes, from line 4, byte ${bytesBefore(3)} on: damaged or unfinished`, "ids 3 to 4, which no animal will have",
    ], 5],
    ["everything", ["z".repeat(1_000)], [
      "the last 1000 bytes, from line 1, byte 0 on: damaged or unfinished", "ids 1 to 12, which no animal will have",
    ], 13],
    ["a line that is doubled", lines.toSpliced(3, 0, change), [`line 3, byte ${bytesBefore(3)}: it is not in its place`], 5],
    ["an id beyond all gaps", [...lines, lineWithChecksum('{"id":999999999999999,"after":4,"line":10,"group":10}')], [
      `line 10, byte ${log.length}: it is not in its place`,
    ], 5],
    ["an id that is given again", [...lines, again], [`line 10, byte ${log.length}: it is not in its place`], 5],
    ["an unfinished end", [...lines, '{"id":5,"na'], [`the last 11 bytes, from line 10, byte ${log.length} on: damaged or unfinished`], 5],
    ["a blank line", lines.toSpliced(1, 0, "\n"), [`1 byte before line 2, byte ${bytesBefore(1) + 1}`], 5],
  ];
  for (const [title, damaged, expected, nextId] of rows) {
    const salvaged = await salvage(Buffer.from(damaged.join("")));
    assert.deepEqual(salvaged.reports, expected.map((what) => `left out ${what}`), title);
    assert.equal(salvaged.nextId, nextId, title);
  }
});

test("a log with gaps keeps them, a lost gap is one again, and a line of a newer release is not left out", async () => {
  const { content } = await salvage(Buffer.from(lines.with(1, "").join("")));
  const salvaged = await salvage(content);
  assert.deepEqual([salvaged.content, salvaged.reports], [content, []]);
  const gap = /\{"id":2,"after":1,.*\n/.exec(content.toString())?.[0] ?? assert.fail(content.toString());
  const again = await salvage(Buffer.from(content.toString().replace(gap, "")));
  assert.deepEqual([again.served, again.nextId], [salvaged.served, 5]);
  assert.ok(again.reports.includes("left out id 2, which no animal will have"));
  const newer = lines.with(4, lineWithChecksum('{"id":4,"colour":"red"}'));
  await assert.rejects(salvage(Buffer.from(newer.join(""))), /^Error: byte \d+: an unknown member: a newer release wrote the line/);
});

test("a change in a gap, which an export of release 2.0.0 may have, is left out", async () => {
  const { content } = await salvage(Buffer.from(lines.with(1, "").join("")));
  const number = content.toString().split("\n").length;
  const change = lineWithChecksum(`{"id":2,"status":"sold","line":${number},"group":${number}}`);
  const salvaged = await salvage(Buffer.concat([content, Buffer.from(change)]));
  assert.deepEqual(salvaged.content, content);
  const reason = "it changes animal 2, which is left out";
  assert.deepEqual(salvaged.reports, [`left out line ${number}, byte ${content.length}: ${reason}`]);
});

test("a name that was chosen so that the line's rest has the line's checksum proves nothing, and stops no salvage", async () => {
  const chosen = lineWithChecksum('{"id":1,"name":"6od60k$a:6{","categoryId":1,"status":"available","group":1}');
  const rest = Buffer.from(chosen.slice(chosen.indexOf('{"', 1), -1));
  assert.ok(hasChecksum(viewOf(rest), 0, rest.length));
  const damaged = Buffer.from(chosen.replace('{"id"', '{"iD"'));
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, damaged);
  const reports: string[] = [];
  const store = await openPetStore({ disk: disk.boot(), dataDir, report: (message) => void reports.push(message) });
  await store.close();
  assert.match(reports.join(), /are an unfinished write .* it was moved to /);
  const second = '{"id":2,"name":"Rex","categoryId":1,"status":"available"';
  const { served } = await salvage(Buffer.concat([damaged, Buffer.from(lineWithChecksum(`${second},"group":2}`))]));
  assert.equal(served, `[${second}}]`);
});

test("a log of several chunks loses what is damaged, wherever that is", async () => {
  const source = new PetFileLines();
  const pieces: Buffer[] = [];
  for (let id = 1; pieces.length < 6; id++) {
    const json = `{"id":${id},"name":"${"x".repeat(id % 256)}","categoryId":1,"status":"sold"}`;
    source.add({ id, isChange: false, statusIndex: 2, json, idempotencyHash: undefined }, 0);
    if (source.isFull) {
      pieces.push(Buffer.from(source.take()));
    }
  }
  for (const holeStart of [1_000_000, chunkBytesMax - 5_000]) {
    const content = Buffer.concat(pieces);
    const nextHole = content.indexOf("\n", holeStart + 10_000);
    content.fill("{", holeStart, holeStart + 10_000);
    const lines = new PetFileLines();
    const reports: string[] = [];
    for await (const _ of salvagePets(memoryFile(content), lines, (message) => void reports.push(message))) {
      // Only what is reported counts here.
    }
    const [, from, to] = /^left out ids (\d+) to (\d+),/.exec(reports[1] ?? "") ?? assert.fail(reports.join());
    assert.equal(content.toString("latin1", 0, holeStart).split("\n").length, Number(from));
    assert.match(content.toString("latin1", nextHole + 1, nextHole + 20), new RegExp(`^\\{"id":${Number(to) + 1},`));
    assert.equal(lines.animalCount, source.animalCount - (Number(to) + 1 - Number(from)));
    assert.equal(reports.length, 2);
  }
});

function bytesBefore(count: number): number {
  return Buffer.byteLength(lines.slice(0, count).join(""));
}
