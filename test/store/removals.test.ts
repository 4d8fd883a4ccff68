/**
 * Removals in pets.jsonl: what a start takes of them and what it refuses, and what an export and a salvage make of them.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { systemClock as clock } from "../../src/base/clock.ts";
import { readWholeFile } from "../../src/disk/file-bytes.ts";
import { fileOf } from "../../src/disk/file-bytes.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { DamagedLogError, type JsonLinesPetStore, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { exportFolder } from "../../src/transfer/export-folder.ts";
import { PetFileLines } from "../../src/transfer/pet-file-lines.ts";
import { salvagePets } from "../../src/transfer/salvage-pets.ts";
import { always, ifMatch } from "../support/store-suites/suite-steps.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const rex = { name: "Rex", categoryId: 1n, status: "available" } as const;
const [create, change, removal] = ["a", "b", "c"].map((letter) => letter.repeat(22)) as [string, string, string];

function open(dataDir: string): Promise<JsonLinesPetStore> {
  return openPetStore({ disk: nodeDisk, dataDir, report: assert.fail });
}

function folderWith(context: TestContext, content: readonly string[]): string {
  const dataDir = temporaryFolder(context);
  writeFileSync(join(dataDir, "pets.jsonl"), content.map(lineWithChecksum).join(""));
  return dataDir;
}

function textIn(dataDir: string): string {
  return readFileSync(join(dataDir, "pets.jsonl"), "utf8").replace(/,"crc":"\w+"|"at":\d+/g, "");
}

const first = '{"id":1,"name":"Rex","categoryId":1,"status":"available","group":1}';
const gone = '{"id":1,"status":"removed","line":2,"group":2}';

test("a removal is a line of a change with the status removed", async (context) => {
  const dataDir = temporaryFolder(context);
  const store = await open(dataDir);
  await store.add(rex);
  await store.remove(1, always);
  await store.close();
  assert.equal(textIn(dataDir), `${first}\n${gone}\n`);
  const again = await open(dataDir);
  assert.deepEqual([again.animalCount, again.get(1), (await again.add(rex)).id], [0, undefined, 2]);
  await again.close();
});

for (const [what, content, reason] of [
  ["a change after a removal", [first, gone, '{"id":1,"status":"sold","line":3,"group":3}'], /animal 1 changes, but there is none/],
  ["a second removal", [first, gone, gone.replaceAll("2", "3")], /animal 1 changes, but there is none/],
  ["a removal before its animal", ['{"id":1,"status":"removed","line":1,"group":1}'], /animal 1 changes, but there is none/],
  ["an animal that is added as removed", [first.replace("available", "removed")], /a newer release wrote the line/],
] as const) {
  test(`${what} stops the start, and the file stays as it was`, async (context) => {
    const dataDir = folderWith(context, content);
    const before = readFileSync(join(dataDir, "pets.jsonl"));
    await assert.rejects(open(dataDir), (error) => error instanceof DamagedLogError && reason.test(error.message));
    assert.deepEqual(readFileSync(join(dataDir, "pets.jsonl")), before);
  });
}

/** Animals 1 to 7: 2, 4 and 7 were removed; 4 was added without a key, changed with one and removed with one. */
async function fill(dataDir: string): Promise<void> {
  const store = await open(dataDir);
  await store.add(rex);
  await store.add({ ...rex, name: "Plain" });
  await store.add(rex, create);
  for (let id = 4; id <= 7; id++) {
    await store.add({ ...rex, name: `Rex ${id}` });
  }
  await store.change(5, { status: "sold" }, always, "d".repeat(22));
  await store.change(4, { status: "pending" }, always, change);
  await store.change(4, { status: "sold" }, always);
  await store.remove(4, always, removal);
  await store.remove(2, always);
  await store.remove(7, always);
  await store.close();
}

test("an export leaves out what was removed, but for animals whose hashes count, and what it writes starts", async (context) => {
  const [dataDir, target] = [temporaryFolder(context), temporaryFolder(context)];
  await fill(dataDir);
  const { pets } = await exportFolder(dataDir, target, { disk: nodeDisk, clock, report: assert.fail });
  assert.equal(pets?.catalogue.count, 4);
  const text = textIn(target);
  assert.doesNotMatch(text, /Plain|Rex 7/);
  assert.match(text, /"id":2,"after":1.*"id":4,"name":"Rex 4".*"id":4,"status":"pending".*"id":4,"status":"removed".*"id":7,"after":6/s);
  for (const folder of [dataDir, target]) {
    const store = await open(folder);
    assert.deepEqual([1, 2, 3, 4, 5, 6, 7].filter((id) => store.get(id) !== undefined), [1, 3, 5, 6]);
    assert.deepEqual([store.animalCount, store.animalCounts], [4, { available: 3, pending: 0, sold: 1 }]);
    assert.deepEqual(await store.change(4, { status: "pending" }, ifMatch(), change), {
      kind: "changed", isReplay: true, version: 2, json: '{"id":4,"name":"Rex 4","categoryId":1,"status":"pending"}',
    });
    assert.deepEqual(await store.remove(4, ifMatch(), removal), { kind: "removed", isReplay: true });
    assert.equal((await store.add(rex, create)).isReplay, true);
    assert.equal((await store.add(rex)).id, 8);
    await store.close();
  }
});

test("an export of an export with removals has the same animals and hashes", async (context) => {
  const [dataDir, once, twice] = [temporaryFolder(context), temporaryFolder(context), temporaryFolder(context)];
  await fill(dataDir);
  for (const [from, to] of [[dataDir, once], [once, twice]] as const) {
    await exportFolder(from, to, { disk: nodeDisk, clock, report: assert.fail });
  }
  assert.equal(textIn(twice), textIn(once));
});

test("a salvage takes removals, and of a lost one it says that the animal is there again", async (context) => {
  const dataDir = temporaryFolder(context);
  await fill(dataDir);
  const content = (await readWholeFile(nodeDisk, join(dataDir, "pets.jsonl"))) ?? assert.fail();
  const salvage = async (damaged: Buffer): Promise<readonly [string, readonly string[]]> => {
    const lost: string[] = [];
    const pieces: Buffer[] = [];
    for await (const piece of salvagePets(fileOf(damaged), new PetFileLines(), (what) => lost.push(what))) {
      pieces.push(Buffer.from(piece));
    }
    const target = temporaryFolder(context);
    writeFileSync(join(target, "pets.jsonl"), Buffer.concat(pieces));
    const store = await open(target);
    const ids = [1, 2, 3, 4, 5, 6, 7].filter((id) => store.get(id) !== undefined);
    await store.close();
    return [ids.join(), lost];
  };
  assert.deepEqual(await salvage(content), ["1,3,5,6", []]);
  const damaged = Buffer.from(content.toString().replace(/("id":2,"status":"removed".*"crc":")./, "$1x"));
  const [ids, lost] = await salvage(damaged);
  assert.equal(ids, "1,2,3,5,6");
  const doubt = "each animal up to id 7 may be as it was earlier, also its version, or be removed";
  assert.ok(lost.some((one) => one.endsWith(doubt)), lost.join("\n"));
});
