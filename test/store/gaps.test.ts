/**
 * A pets.jsonl with gaps, ids that no animal has, as a salvage or an export writes it: the store serves it, and goes on
 * after it. The catalogue in memory has its own test of gaps.
 */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import type { PetStatus } from "../../src/pets/pet.ts";
import { DamagedLogError, type JsonLinesPetStore, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { PetFileLines } from "../../src/transfer/pet-file-lines.ts";
import { always, ifMatch } from "../support/store-suites/suite-steps.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const once = "a".repeat(22);
const at = Math.floor(Date.now() / 1_000);
/** Animals 3, 4 and 7, of which 3 was sold. Ids 8 and 9 were given, too. */
const lines = [
  '{"id":2,"after":0,"line":1,"group":1}',
  '{"id":3,"name":"Rex","categoryId":1,"status":"available","line":2,"group":2}',
  `{"id":4,"name":"Tom","categoryId":1,"status":"sold","line":3,"group":2,"once":"${once}","at":${at}}`,
  '{"id":6,"after":4,"line":4,"group":4}',
  '{"id":3,"status":"sold","line":5,"group":5}',
  '{"id":7,"name":"Max","categoryId":1,"status":"pending","line":6,"group":5}',
  '{"id":9,"after":7,"line":7,"group":7}',
];
const served = [
  '{"id":3,"name":"Rex","categoryId":1,"status":"sold"}',
  '{"id":4,"name":"Tom","categoryId":1,"status":"sold"}',
  '{"id":7,"name":"Max","categoryId":1,"status":"pending"}',
];

function folderWith(context: TestContext, content: readonly string[]): string {
  const dataDir = temporaryFolder(context);
  writeFileSync(join(dataDir, "pets.jsonl"), content.map(lineWithChecksum).join(""));
  return dataDir;
}

function open(dataDir: string): Promise<JsonLinesPetStore> {
  return openPetStore({ disk: nodeDisk, dataDir, report: assert.fail });
}

test("a file with gaps is served: pages pass over them, and an id in one has no animal", async (context) => {
  const dataDir = folderWith(context, lines);
  const store = await open(dataDir);
  assert.equal(store.animalCount, 3);
  const list = (after: number, limit: number, status?: PetStatus) => {
    const { json, nextAfter } = store.list({ after, limit, status });
    return [String(json), nextAfter];
  };
  const [rex, tom, max] = served;
  assert.deepEqual(list(0, 20), [`[${served.join()}]`, undefined]);
  assert.deepEqual(list(0, 1), [`[${rex}]`, 3]);
  assert.deepEqual(list(3, 1), [`[${tom}]`, 4]);
  assert.deepEqual(list(5, 1), [`[${max}]`, undefined]);
  assert.deepEqual(list(7, 1), ["[]", undefined]);
  assert.deepEqual(list(0, 1, "sold"), [`[${rex}]`, 3]);
  assert.deepEqual(list(3, 1, "sold"), [`[${tom}]`, undefined]);
  for (const id of [1, 2, 5, 6, 8, 9, 10]) {
    assert.equal(store.get(id), undefined);
    assert.deepEqual(await store.change(id, { status: "sold" }, always), { kind: "absent" });
  }
  await store.close();
});

test("after a gap at the end the next animal has the id after it, also after a restart, and hashes are known", async (context) => {
  const dataDir = folderWith(context, lines);
  for (const id of [10, 11]) {
    const store = await open(dataDir);
    assert.deepEqual(await store.add({ name: "Tom", categoryId: 1n, status: "sold" }, once), { id: 4, json: served[1], isReplay: true });
    const added = await store.add({ name: "Kim", categoryId: 1n, status: "sold" });
    assert.equal(added.id, id);
    assert.equal((await store.change(id, { status: "pending" }, ifMatch("sold"))).kind, "changed");
    await store.close();
  }
  const store = await open(dataDir);
  assert.equal(store.animalCount, 5);
  assert.match(String(store.list({ after: 7, limit: 9, status: undefined }).json), /^\[\{"id":10,.*"pending"\},\{"id":11,.*"pending"\}\]$/);
  await store.close();
});

test("a gap of a billion ids takes neither time nor memory, and a longer one is damage", async (context) => {
  const last = 2 ** 30;
  const dataDir = folderWith(context, [`{"id":${last},"after":0,"line":1,"group":1}`]);
  const before = process.memoryUsage().rss;
  const start = process.cpuUsage();
  for (const id of [last + 1, last + 2]) {
    const store = await open(dataDir);
    assert.deepEqual([(await store.add({ name: "Rex", categoryId: 1n, status: "sold" })).id, store.get(last)], [id, undefined]);
    assert.match(String(store.list({ after: 0, limit: 1, status: "sold" }).json), new RegExp(`^\\[\\{"id":${last + 1},"name":"Rex"`));
    await store.close();
  }
  assert.ok(process.memoryUsage().rss - before < 1_000_000_000); // A word for each id takes four times as much.
  assert.ok(process.cpuUsage(start).user < 3_000_000, "going through the ids takes longer");
  for (const id of [last + 1, 999_999_999_999_999]) {
    const longer = folderWith(context, [`{"id":${id},"after":0,"line":1,"group":1}`]);
    await assert.rejects(open(longer), /: the gap ends at id \d+: it may be 1073741824 at most$/);
    assert.throws(() => new PetFileLines().skipTo(id), /^Error: the ids up to \d+ do not fit into a data folder: a gap ends at 1073741824 at most$/);
  }
});

test("ids that jump without a gap, a gap at another place and a change in a gap are damage", async (context) => {
  for (const [index, from, to, reason] of [
    [1, '"id":3', '"id":4', "has id 4 instead of 3"],
    [3, '"after":4', '"after":5', "the gap is after id 5 instead of 4"],
    [4, '"id":3', '"id":2', "animal 2 changes, but there is none"],
    [4, '"id":3', '"id":6', "animal 6 changes, but there is none"],
    [4, '"id":3', '"id":7', "animal 7 changes, but there is none"],
  ] as const) {
    const dataDir = folderWith(context, lines.map((line, at) => (at === index ? line.replace(from, to) : line)));
    await assert.rejects(open(dataDir), (error) => error instanceof DamagedLogError && error.message.includes(reason), reason);
  }
});
