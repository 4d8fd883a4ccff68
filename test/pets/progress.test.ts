/**
 * A load reports its progress every two seconds, and ends when its signal is aborted.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** More than two chunks of the log reader, 4 MiB each. */
const animalCount = 30_000;
const name = "x".repeat(240);

for (const [stepMs, expectedCount] of [[1_999, 1], [2_000, 3]] as const) {
  test(`openPetStore() reports its progress ${expectedCount} times if each chunk takes ${stepMs} ms`, async (context) => {
    const dataDir = temporaryFolder(context);
    const path = join(dataDir, "pets.jsonl");
    const members = `"name":"${name}","categoryId":1,"status":"sold","group":1`;
    writeFileSync(path, Array.from({ length: animalCount }, (_, index) => lineWithChecksum(`{"id":${index + 1},${members}}`)).join(""));
    let nowMs = 0;
    const clock = { wallMs: () => 0, monotonicMs: () => (nowMs += stepMs) - stepMs };
    const reports: string[] = [];
    const store = await openPetStore({ disk: nodeDisk, dataDir, clock, report: (message) => reports.push(message) });
    context.after(() => store.close());
    assert.equal(store.animalCount, animalCount);
    assert.equal(reports.length, expectedCount, reports.join("; "));
    for (const report of reports) {
      assert.match(report, new RegExp(`^loading ${path}: [0-9]{1,3} %$`));
    }
  });
}

test("openPetStore() rejects with the reason of its signal, and leaves the file as it is", async (context) => {
  const dataDir = temporaryFolder(context);
  const path = join(dataDir, "pets.jsonl");
  const line = lineWithChecksum('{"id":1,"name":"Rex","categoryId":1,"status":"sold","group":1}');
  writeFileSync(path, line);
  const reason = new Error("SIGTERM");
  const opening = openPetStore({ disk: nodeDisk, dataDir, report: assert.fail, signal: AbortSignal.abort(reason) });
  await assert.rejects(opening, reason);
  assert.equal(readFileSync(path, "utf8"), line);
});
