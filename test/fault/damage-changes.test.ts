/**
 * A small log of animals and changes of their statuses, damaged as in damage.test.ts: no start serves a status that the
 * lines before the damage do not come to.
 */

import assert from "node:assert/strict";
import { before, test } from "node:test";

import type { StatusChange } from "../../src/pets/pet-store.ts";
import { petStatuses } from "../../src/pets/pet.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";
import { dataDir, flippedBits, path, start } from "./damaged-start.ts";

const rex = { name: "Ø \"x\"", categoryId: -5n, status: "available" } as const;
const reserve: StatusChange = { status: "pending", from: petStatuses };
const sell: StatusChange = { status: "sold", from: petStatuses };
/** The last group is lines 7 to 9, all of them changes. */
const lastGroup = 7;

let log: Buffer = Buffer.alloc(0);
let lines: string[] = [];

before(async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const store = await openPetStore({ disk: disk.boot(), dataDir, report: assert.fail });
  await Promise.all([store.add(rex), store.add(rex)]);
  await Promise.all([store.changeStatus(1, reserve, "h".repeat(22)), store.add(rex), store.add(rex)]);
  await store.changeStatus(2, sell);
  await Promise.all([store.changeStatus(3, sell), store.changeStatus(1, sell), store.changeStatus(2, reserve)]);
  await store.close();
  log = disk.seen(path);
  lines = log.toString().split(/(?<=\n)/);
  assert.deepEqual(lines.map((line) => Number(/"group":(\d+)/.exec(line)?.[1])), [1, 1, 3, 3, 3, 6, 7, 7, 7]);
});

/** What the first lines come to, each merged into the animal that it is about. */
function animalsAfter(lineCount: number): string {
  const animals = new Map<number, object>();
  for (const text of lines.slice(0, lineCount)) {
    const { line: _line, group: _group, once: _once, at: _at, crc: _crc, ...members } = JSON.parse(text) as { id: number; [name: string]: unknown };
    animals.set(members.id, { ...animals.get(members.id), ...members });
  }
  return JSON.stringify([...animals.values()]);
}

test("a log with changes, cut at any byte, serves what its whole lines come to and sets the rest aside", async () => {
  for (let size = log.length; size >= 0; size--) {
    const content = log.subarray(0, size);
    const wholeBytes = content.lastIndexOf("\n") + 1;
    const { served, reports, disk } = await start(content);
    assert.equal(served, animalsAfter(content.toString().split("\n").length - 1), `cut at ${size}`);
    assert.deepEqual(disk.kept(path), log.subarray(0, wholeBytes), `cut at ${size}`);
    assert.deepEqual(disk.kept(`${path}.torn`), content.subarray(wholeBytes), `cut at ${size}`);
    assert.equal(reports.length, wholeBytes === size ? 0 : 1, `cut at ${size}`);
  }
});

test("after any flipped bit in a log with changes the start is refused, or the last group is set aside", async () => {
  for (const { content, about, index, offset } of flippedBits(log)) {
    const { served, refusal, disk } = await start(content);
    if (index + 1 < lastGroup) {
      assert.ok(refusal?.includes(`line ${index + 1}, byte ${offset}:`), `${about}: ${refusal ?? served}`);
      assert.deepEqual(disk.seen(path), content, `${about}: the file stays as it was`);
    } else {
      assert.equal(served, animalsAfter(index), about);
      assert.deepEqual(disk.kept(`${path}.torn`), content.subarray(offset), `${about}: kept beside it`);
    }
  }
});

test("the start is refused if any line of a log with changes is missing, doubled or moved, and the file stays as it was", async () => {
  const others = lines.flatMap((line, index) => [
    ...(index < lines.length - 1 ? [[`without line ${index + 1}`, lines.toSpliced(index, 1)] as const] : []),
    [`line ${index + 1} twice`, lines.toSpliced(index, 0, line)] as const,
    ...lines.map((_, to) => [`line ${index + 1} at ${to + 1}`, lines.toSpliced(index, 1).toSpliced(to, 0, line)] as const),
  ]);
  for (const [title, damaged] of others.filter(([, other]) => other.join("") !== lines.join(""))) {
    const content = Buffer.from(damaged.join(""));
    const { refusal, served, disk } = await start(content);
    assert.match(refusal ?? `${title} is served: ${served}`, /^Cannot start: \/pets\/pets\.jsonl is damaged at line \d+, byte \d+: /);
    assert.deepEqual(disk.seen(path), content, title);
  }
});

test("a log of release 1.2 is served, and stays byte for byte, also before the changes that follow", async () => {
  const old = '{"id":1,"name":"Rex","categoryId":1,"status":"available","group":1,"crc":"1db18928"}\n';
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, Buffer.from(old));
  for (const status of ["available", "sold"]) {
    const store = await openPetStore({ disk: disk.boot(), dataDir, report: assert.fail });
    assert.equal(store.get(1)?.toString(), `{"id":1,"name":"Rex","categoryId":1,"status":"${status}"}`);
    assert.equal(disk.kept(path).toString().slice(0, old.length), old);
    assert.equal(disk.kept(path).length === old.length, status === "available");
    await store.changeStatus(1, sell);
    await store.close();
  }
});
