/**
 * Salvage makes from a damaged log of animals and changes a log that can be served, with all intact lines, and with no
 * animal that has another's id. The command is tested in test/cli/salvage.test.ts.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { hasChecksum, lineWithChecksum, viewOf } from "../../src/base/checksum.ts";
import { systemClock } from "../../src/base/clock.ts";
import { fileOf } from "../../src/disk/file-bytes.ts";
import { snapshotPieces } from "../../src/folder/limits-file.ts";
import { encodeKeyEvent } from "../../src/keys/key-line.ts";
import { MemoryLimiter } from "../../src/limits/memory-limiter.ts";
import { chunkBytesMax } from "../../src/log/chunks.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { PetFileLines } from "../../src/transfer/pet-file-lines.ts";
import { salvagePets } from "../../src/transfer/salvage-pets.ts";
import { seeded, SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";
import { animalsIn, animalsOf, changeLines, damageOnce, dataDir, flippedBits, longLines, path, rex } from "./damaged-start.ts";

const fuzzCount = Number(process.env["FLIPS"] ?? 60);
const lines = changeLines;
const log = Buffer.from(lines.join(""));

interface Salvaged {
  readonly content: Buffer;
  readonly served: string;
  readonly nextId: number;
  readonly reports: readonly string[];
}

/** Salvages, and opens what was written, which has to be intact. */
async function salvage(damaged: Buffer): Promise<Salvaged> {
  const reports: string[] = [];
  const content = await contentOf(salvagePets(fileOf(damaged), new PetFileLines(), (message) => void reports.push(message)));
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, content);
  const store = await openPetStore({ disk: disk.boot(), dataDir, report: assert.fail });
  const served = animalsIn(store);
  const { id } = await store.add(rex);
  await store.close();
  return { content, served, nextId: id, reports };
}

async function contentOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const copies: Buffer[] = [];
  for await (const piece of pieces) {
    copies.push(Buffer.from(piece));
  }
  return Buffer.concat(copies);
}

/** What all lines but those at `lost` come to. */
function animalsWithout(lost: readonly number[], all = lines): string {
  return animalsOf(all.filter((_, index) => !lost.includes(index)));
}

test("of an intact log nothing is left out, and hashes keep their times", async () => {
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
    const place = `lost: line ${index + 1}, in bytes ${offset} to ${bytesBefore(index + 1)}`;
    assert.equal(reports.includes(place), !isNewline && index < lines.length - 1, reports.join());
    // Of a change that is lost after the last animal, and cannot be read as one, nobody knows that it was no animal.
    assert.ok(nextId === 5 || (nextId === 6 && !isNewline && index >= 5), about);
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

const tom = (number: number, id = 3): string =>
  lineWithChecksum(`{"id":${id},"name":"Tom","categoryId":1,"status":"sold"${number === id ? "" : `,"line":${number}`},"group":${number}}`);
const sale = (number: number, id: number): string => lineWithChecksum(`{"id":${id},"status":"sold","line":${number},"group":${number}}`);

const outOfOrder = /the line with number \d+, at byte \d+, stands behind a later one: .*\. Cut out of a copy what is wrong, and salvage that$/;

test("lines that are moved or doubled, or of two histories, are told, and nothing is written", async () => {
  const fork = [tom(8, 5), sale(9, 1), tom(10, 6)];
  for (const order of [lines.toReversed(), [...lines.slice(5), ...lines.slice(0, 5)], [...lines, ...fork], [...fork, ...lines]]) {
    await assert.rejects(salvage(Buffer.from(order.join(""))), outOfOrder);
  }
});

test("a line that says an earlier version than one before it is of another history: it is told, and nothing is written", async () => {
  const corrected = (number: number, version: number): string => lineWithChecksum(
    `{"id":1,"name":"Tom","categoryId":1,"status":"sold","version":${version},"line":${number},"group":${number},"at":9}`);
  const history = [tom(1, 1), corrected(2, 2), sale(3, 1)];
  assert.deepEqual((await salvage(Buffer.from([...history, corrected(4, 4)].join("")))).reports, []);
  const mixed = /^Error: the line with number 5, at byte \d+, has version 2 after version 3: .*two histories are mixed\. Cut out of a copy /;
  await assert.rejects(salvage(Buffer.from([...history, corrected(5, 2)].join(""))), mixed);
});

test("line ends of Windows, a byte order mark, blank lines and a missing last newline are no loss", async () => {
  const { content } = await salvage(log);
  const text = log.toString();
  for (const other of [text.replaceAll("\n", "\r\n"), `\uFEFF${text}`, text.replaceAll("\n", "\n\n"), `${text}\n \t\r\n`, text.slice(0, -1)]) {
    const salvaged = await salvage(Buffer.from(other));
    assert.deepEqual([salvaged.content, salvaged.reports, salvaged.nextId], [content, [], 5], JSON.stringify(other.slice(0, 200)));
  }
});

test("zeros over the end of one line and the beginning of the next are two lost lines, also where the next is short", async () => {
  const removal = lineWithChecksum('{"id":1,"status":"removed","line":3,"group":3}');
  const content = Buffer.from([tom(1, 1), tom(2, 2), removal].join(""));
  const secondAt = tom(1, 1).length;
  content.fill(0, secondAt + 40, content.length - 40);
  const { reports } = await salvage(content);
  assert.ok(reports.some((report) => /each animal up to id 1 may .*, or be removed$/.test(report)), reports.join("\n"));
});

test("a log with gaps keeps them, a lost gap is one again, and a line of a newer release is not left out", async () => {
  const { content } = await salvage(Buffer.from(lines.with(1, "").join("")));
  const salvaged = await salvage(content);
  assert.deepEqual([salvaged.content, salvaged.reports], [content, []]);
  const gap = /\{"id":2,"after":1,.*\n/.exec(content.toString())?.[0] ?? assert.fail(content.toString());
  const again = await salvage(Buffer.from(content.toString().replace(gap, "")));
  assert.deepEqual([again.served, again.nextId], [salvaged.served, 5]);
  assert.ok(again.reports.includes("lost: animal 2; no other animal gets the id"), again.reports.join());
  const newer = lines.with(4, lineWithChecksum('{"id":4,"colour":"red"}'));
  await assert.rejects(salvage(Buffer.from(newer.join(""))), /^Error: byte \d+: an unknown member: a newer release wrote the line/);
});

test("changes that are lost together with a gap are told", async () => {
  const gone = [['{"id":500,"after":1', 2], ['{"id":1,"status":"sold"', 3], ['{"id":1,"status":"removed"', 4]] as const;
  const damaged = gone.map(([start, line]) => lineWithChecksum(`${start},"line":${line},"group":${line}}`)).join("");
  const animal = (id: number, line: number): string => {
    return lineWithChecksum(`{"id":${id},"name":"Tom","categoryId":1,"status":"available","line":${line},"group":${line}}`);
  };
  const { nextId, reports } = await salvage(Buffer.from(tom(1, 1) + "x".repeat(damaged.length) + animal(501, 5) + animal(502, 6)));
  assert.equal(nextId, 503);
  assert.ok(reports.some((report) => /each animal up to id 502 may .*, or be removed$/.test(report)), reports.join("\n"));
});

test("a change that is lost together with a gap is told, also if there are as many ids as lines", async () => {
  const lost = ['{"id":3,"after":1,"line":2,"group":2}', '{"id":1,"status":"sold","line":3,"group":3}'].map(lineWithChecksum).join("");
  const last = lineWithChecksum('{"id":4,"name":"Tom","categoryId":1,"status":"available","group":4}');
  const { reports } = await salvage(Buffer.from(tom(1, 1) + "x".repeat(lost.length) + last));
  assert.ok(reports.some((report) => /each animal up to id 4 may .*, or be removed$/.test(report)), reports.join("\n"));
});

test("behind a lost gap and lost animals, no id is given again that a torn line may have had", async () => {
  const gap = lineWithChecksum('{"id":500,"after":1,"line":2,"group":2}');
  const animals = [501, 502].map((id, index) => {
    return lineWithChecksum(`{"id":${id},"name":"Tom","categoryId":1,"status":"available","line":${index + 3},"group":2}`);
  });
  const change = lineWithChecksum('{"id":502,"status":"sold","line":5,"group":5}');
  const torn = '{"id":503,"name":"Tom","categoryId":1,"status":"available","line":6,"group":6,"crc":"00';
  const { nextId } = await salvage(Buffer.from(tom(1, 1) + "x".repeat((gap + animals.join("")).length) + change + torn));
  assert.ok(nextId > 503, String(nextId));
});

test("a change in a gap, which an export of release 2.0.0 may have, is left out", async () => {
  const { content } = await salvage(Buffer.from(lines.with(1, "").join("")));
  const number = content.toString().split("\n").length;
  const change = lineWithChecksum(`{"id":2,"status":"sold","line":${number},"group":${number}}`);
  const salvaged = await salvage(Buffer.concat([content, Buffer.from(change)]));
  assert.deepEqual(salvaged.content, content);
  const reason = "by which animal 2 changed: it is lost or removed";
  assert.deepEqual(salvaged.reports, [`left out the line with number ${number}, at byte ${content.length}, ${reason}`]);
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
  assert.equal(served, `[${second},"version":1}]`);
});

test("lines of keys.jsonl and limits.json, which a disk has written into a log, are damage, and stop no salvage", async () => {
  const key = encodeKeyEvent({ event: "revoked", timeMs: 0, id: `key_${"A".repeat(15)}` });
  const limits = [...snapshotPieces(new MemoryLimiter({ clock: systemClock }))].join("");
  for (const foreign of [key, limits]) {
    for (const index of lines.keys()) {
      const damaged = Buffer.from(lines.with(index, foreign).join(""));
      assert.equal((await salvage(damaged)).served, animalsWithout([index]), `${index} ${foreign}`);
    }
  }
});

test("what is damaged proves nothing: the id of the last animal is not given again if its line reads as a change", async () => {
  for (const id of [1, 99]) {
    const spliced = `{"id":${id},"status":"sold"ble","line":10,"group":10,"crc":"00000000"}\n`;
    const { nextId, reports } = await salvage(Buffer.from([...lines, spliced, sale(11, 1)].join("")));
    assert.equal(nextId, 6);
    assert.ok(reports.some((report) => report.includes("each animal up to id 4 ")));
  }
});

test("a log of several chunks loses what is damaged, wherever that is", async () => {
  const source = new PetFileLines();
  const pieces: Buffer[] = [];
  for (let id = 1; pieces.length < 6; id++) {
    const json = `{"id":${id},"name":"${"x".repeat(id % 256)}","categoryId":1,"status":"sold"}`;
    source.add({ id, kind: "create", statusIndex: 2, version: 0, json, idempotencyHash: undefined }, 0);
    if (source.isFull) {
      pieces.push(Buffer.from(source.take()));
    }
  }
  for (const holeStart of [1_000_000, chunkBytesMax - 5_000]) {
    const content = Buffer.concat(pieces);
    const nextHole = content.indexOf("\n", holeStart + 10_000);
    content.fill("{", holeStart, holeStart + 10_000);
    const written = new PetFileLines();
    const reports: string[] = [];
    await contentOf(salvagePets(fileOf(content), written, (message) => void reports.push(message)));
    const lost = reports.map((report) => /^lost: animals (\d+) to (\d+);/.exec(report)).filter((found) => found !== null);
    const [, from, to] = lost[0] ?? assert.fail(reports.join());
    assert.equal(content.toString("latin1", 0, holeStart).split("\n").length, Number(from));
    assert.match(content.toString("latin1", nextHole + 1, nextHole + 20), new RegExp(`^\\{"id":${Number(to) + 1},`));
    assert.equal(written.animalCount, source.animalCount - (Number(to) + 1 - Number(from)));
    assert.equal(lost.length, 1);
  }
});

test("whatever is exchanged, blank or missing, all intact animals have their last intact status; what is moved is refused", seeded(async (random) => {
  const all = await longLines(random);
  for (let round = 0; round < fuzzCount; round++) {
    let damaged: Buffer = Buffer.from(all.join(""));
    for (let count = random.integer(1, 4); count > 0 && damaged.length > 0; count--) {
      damaged = damageOnce(random, damaged);
    }
    const there = all.map((line) => damaged.includes(line.slice(0, -1)));
    const salvaged = await salvage(damaged).catch((error: unknown) => assert.match(String(error), outOfOrder));
    if (salvaged === undefined) {
      continue;
    }
    const { served, reports } = salvaged;
    assert.equal(served, animalsWithout([...all.keys()].filter((index) => !there[index]), all), `round ${round}: ${reports.join("\n")}`);
    const isLost = there.slice(0, Math.max(there.lastIndexOf(true), 0)).includes(false); // Nothing tells of lines behind the last one.
    assert.ok(reports.length > 0 || !isLost, `round ${round}: what is lost is said`);
  }
}));

function bytesBefore(count: number): number {
  return Buffer.byteLength(lines.slice(0, count).join(""));
}
