/**
 * Versions and corrections in pets.jsonl: what is written of them, what a start takes, and what it refuses. What a store
 * does with them is in the suites.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { petVersionMax, StorageUnavailableError } from "../../src/pets/pet-store.ts";
import { DamagedLogError, type JsonLinesPetStore, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { always, ifMatch } from "../support/store-suites/suite-steps.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const clock = new ManualClock({ wallMs: Date.UTC(2026, 10, 21, 12) });
const at = clock.wallMs() / 1_000;
const hash = "AbCdEfGhIjKlMnOpQrStU-";

function open(dataDir: string): Promise<JsonLinesPetStore> {
  return openPetStore({ disk: nodeDisk, dataDir, clock, report: assert.fail });
}

function folderWith(context: TestContext, lines: readonly string[]): string {
  const dataDir = temporaryFolder(context);
  writeFileSync(join(dataDir, "pets.jsonl"), lines.map(lineWithChecksum).join(""));
  return dataDir;
}

const first = '{"id":1,"name":"Rex","categoryId":1,"status":"available","group":1}';
const sale = '{"id":1,"status":"sold","line":2,"group":2}';

test("a correction is a line with the whole animal, its version and the time, whatever else the group has", async (context) => {
  const dataDir = folderWith(context, [first]);
  const store = await open(dataDir);
  await Promise.all([
    store.change(1, { status: "sold" }, always),
    store.change(1, { name: "Max", status: "pending" }, always),
    store.add({ name: "Bo", categoryId: 2n, status: "available" }),
    store.change(1, { categoryId: -3n }, always, hash),
    store.change(1, { name: "Max", status: "sold" }, always),
    store.change(1, { name: "Max", status: "sold" }, always),
  ]);
  await store.close();
  assert.equal(readFileSync(join(dataDir, "pets.jsonl"), "utf8"), [
    first,
    sale,
    `{"id":1,"name":"Max","categoryId":1,"status":"pending","version":3,"line":3,"group":2,"at":${at}}`,
    '{"id":2,"name":"Bo","categoryId":2,"status":"available","line":4,"group":2}',
    `{"id":1,"name":"Max","categoryId":-3,"status":"pending","version":4,"line":5,"group":2,"once":"${hash}","at":${at}}`,
    '{"id":1,"status":"sold","line":6,"group":2}',
  ].map(lineWithChecksum).join(""));
});

test("each line about an animal is one version more, unless it says which", async (context) => {
  const dataDir = folderWith(context, [
    first,
    '{"id":2,"name":"Bo","categoryId":2,"status":"sold","version":7,"group":2}',
    '{"id":1,"status":"sold","line":3,"group":3}',
    `{"id":2,"status":"sold","version":7,"line":4,"group":4,"once":"${hash}","at":${at}}`,
    '{"id":2,"status":"pending","version":9,"line":5,"group":5}',
    '{"id":2,"status":"sold","line":6,"group":6}',
    `{"id":1,"name":"Max","categoryId":1,"status":"sold","version":5,"line":7,"group":7,"at":${at}}`,
    '{"id":1,"status":"available","line":8,"group":8}',
    '{"id":3,"name":"Kim","categoryId":2,"status":"sold","line":9,"group":9}',
  ]);
  const store = await open(dataDir);
  assert.deepEqual([1, 2, 3].map((id) => store.get(id)?.version), [6, 10, 1]);
  const replay = await store.change(2, { status: "sold" }, ifMatch(), hash);
  assert.deepEqual([replay.kind, "version" in replay && replay.version], ["changed", 7]);
  await store.close();
});

const last = `{"id":1,"status":"sold","version":${petVersionMax},"line":2,"group":2}`;
const greater = petVersionMax + 1;
const tooGreat = `animal 1 has version ${greater}: it may be ${petVersionMax} at most`;
for (const [what, lines, reason] of [
  ["of a change", [first, last.replace(`${petVersionMax}`, `${greater}`)], tooGreat],
  ["of a new animal", [first.replace('"group"', `"version":${greater},"group"`)], tooGreat],
  ["that is counted", [first, last, sale.replaceAll("2", "3")], tooGreat],
  ["of a correction", [first, sale, `${first.slice(0, -11)},"version":${greater},"line":3,"group":3,"at":1}`], tooGreat],
  ["that goes back", [first, sale, sale.replace('"line":2,"group":2', '"version":1,"line":3,"group":3')],
    "animal 1 has version 1 after version 2"],
  ["of a correction, that goes back", [first, last, `${first.slice(0, -11)},"version":2,"line":3,"group":3,"at":1}`],
    `animal 1 has version 2 after version ${petVersionMax}`],
] as const) {
  const isBack = reason.includes("after");
  test(`a version ${what} ${isBack ? "" : "beyond the greatest one "}stops the start, with line and byte`, async (context) => {
    const dataDir = folderWith(context, lines);
    const content = readFileSync(join(dataDir, "pets.jsonl"), "utf8");
    const byte = content.lastIndexOf("\n", content.length - 2) + 1;
    await assert.rejects(open(dataDir), (error) => {
      assert.ok(error instanceof DamagedLogError);
      assert.ok(error.message.endsWith(`pets.jsonl is damaged at line ${lines.length}, byte ${byte}: ${reason}`), error.message);
      return true;
    });
    assert.equal(readFileSync(join(dataDir, "pets.jsonl"), "utf8"), content);
  });
}

test("a correction of an animal that is not there stops the start, with line and byte", async (context) => {
  const correction = (id: number, line: number): string =>
    `{"id":${id},"name":"Max","categoryId":1,"status":"sold","version":2,"line":${line},"group":${line},"at":1}`;
  for (const [lines, reason] of [
    [[correction(1, 1)], "animal 1 changes, but there is none"],
    [[first, correction(2, 2)], "animal 2 changes, but there is none"],
    [[first, '{"id":3,"after":1,"line":2,"group":2}', correction(3, 3)], "animal 3 changes, but there is none"],
    [[first, sale.replace("sold", "removed"), correction(1, 3)], "animal 1 changes, but there is none"],
  ] as const) {
    const dataDir = folderWith(context, lines);
    const byte = lines.slice(0, -1).map(lineWithChecksum).join("").length;
    const message = `Cannot start: ${join(dataDir, "pets.jsonl")} is damaged at line ${lines.length}, byte ${byte}: ${reason}`;
    await assert.rejects(open(dataDir), { name: "DamagedLogError", message });
  }
});

test("after its last version an animal cannot be changed or removed, and what it is can be read", async (context) => {
  const dataDir = folderWith(context, [first, last]);
  const content = readFileSync(join(dataDir, "pets.jsonl"), "utf8");
  const store = await open(dataDir);
  const message = `animal 1 has its last version, ${petVersionMax}`;
  for (const key of [undefined, hash]) {
    const tag = ifMatch(`sold-${petVersionMax}`);
    await assert.rejects(store.change(1, { status: "pending" }, tag, key), { name: "StorageUnavailableError", message });
    await assert.rejects(store.change(1, { name: "Max" }, tag, key), StorageUnavailableError);
    await assert.rejects(store.remove(1, tag, key), StorageUnavailableError);
  }
  assert.equal((await store.change(1, { status: "sold" }, always)).kind, "changed", "which changes nothing");
  assert.equal(store.get(1)?.version, petVersionMax);
  await store.close();
  assert.equal(readFileSync(join(dataDir, "pets.jsonl"), "utf8"), content);
});

test("a name that looks like other members is a name: in lists of a category, in corrections and after a start", async (context) => {
  const dataDir = temporaryFolder(context);
  const names = ['"categoryId":7', ',"categoryId":7,"status":"sold', '\\","categoryId":7,', '","status":"sold"}'];
  const json = (id: number, categoryId: number, status: string): string =>
    `{"id":${id},"name":${JSON.stringify(names[id - 1])},"categoryId":${categoryId},"status":"${status}"}`;
  const store = await open(dataDir);
  for (const [index, name] of names.entries()) {
    await store.add({ name: "Rex", categoryId: 7n, status: "available" });
    await store.change(index + 1, { name }, always);
    await store.change(index + 1, { categoryId: 5n, status: "pending" }, always);
    await store.change(index + 1, { categoryId: 5n }, always);
  }
  const check = (one: JsonLinesPetStore): void => {
    const list = (categoryId: bigint): string =>
      String(one.list({ after: 0, limit: 9, status: "pending", categoryId }).json);
    assert.equal(list(5n), `[${names.map((_, index) => json(index + 1, 5, "pending")).join()}]`);
    assert.equal(list(7n), "[]");
    assert.deepEqual(names.map((_, index) => one.get(index + 1)?.version), [3, 3, 3, 3]);
  };
  check(store);
  await store.close();
  const again = await open(dataDir);
  check(again);
  await again.close();
});
