/**
 * Removals in pets.jsonl: what a start takes of them and what it refuses.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { DamagedLogError, type JsonLinesPetStore, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { always } from "../support/store-suites/suite-steps.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const rex = { name: "Rex", categoryId: 1n, status: "available" } as const;

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
