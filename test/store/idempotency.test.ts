/**
 * What our store promises of idempotency hashes beyond the suite for all stores: the form on disk, the times, and what
 * a failure leaves.
 */

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import type { Disk } from "../../src/disk/disk.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import type { NewPet } from "../../src/pets/pet.ts";
import { DamagedLogError, type JsonLinesPetStore, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const rex: NewPet = { name: "Rex", categoryId: 1n, status: "available" };
const hash = "AbCdEfGhIjKlMnOpQrStU-";
const hourMs = 3_600_000;

interface Place {
  readonly path: string;
  readonly clock: ManualClock;
  open(disk?: Disk): Promise<JsonLinesPetStore>;
}

async function placeOf(context: TestContext): Promise<Place> {
  const dataDir = await temporaryFolder(context);
  const clock = new ManualClock({ wallMs: Date.UTC(2026, 10, 21, 12) });
  const open = async (disk: Disk = nodeDisk): Promise<JsonLinesPetStore> => {
    const store = await openPetStore({ disk, dataDir, clock, report: () => undefined });
    context.after(() => store.close());
    return store;
  };
  return { path: join(dataDir, "pets.jsonl"), clock, open };
}

test("a create with a hash has `once` and `at` in its line, and a create without one has neither", async (context) => {
  const { path, open } = await placeOf(context);
  const store = await open();
  await store.add(rex);
  await store.add(rex, hash);
  const members = '"name":"Rex","categoryId":1,"status":"available"';
  const at = Date.UTC(2026, 10, 21, 12) / 1_000;
  assert.equal(
    await readFile(path, "utf8"),
    lineWithChecksum(`{"id":1,${members},"group":1}`) +
      lineWithChecksum(`{"id":2,${members},"group":2,"once":"${hash}","at":${at}}`),
  );
  assert.equal(store.get(2)?.json, `{"id":2,${members}}`);
});

test("a hash counts for 24 hours of the monotonic clock, whatever the system clock does", async (context) => {
  const { clock, open } = await placeOf(context);
  const store = await open();
  await store.add(rex, hash);
  for (const stepMs of [hourMs, -2 * hourMs, 30 * 24 * hourMs, -60 * 24 * hourMs]) {
    clock.stepWall(stepMs);
    assert.equal((await store.add(rex, hash)).id, 1, String(stepMs));
  }
  clock.advance(24 * hourMs);
  assert.equal((await store.add(rex, hash)).id, 1);
  clock.advance(2_000);
  assert.equal((await store.add(rex, hash)).id, 2);
});

test("no part of a second makes 24 hours shorter", async (context) => {
  for (const [partMs, laterMs] of [[900, 100], [999, 0], [0, 999], [500, 500]] as const) {
    const { clock, open } = await placeOf(context);
    const store = await open();
    clock.advance(partMs);
    await store.add(rex, hash);
    clock.advance(laterMs);
    await store.close();
    const again = await open();
    clock.advance(24 * hourMs - laterMs);
    assert.equal((await again.add(rex, hash)).id, 1, `${partMs} ${laterMs}`);
  }
});

test("across a restart a hash counts for 24 hours of the wall clock, and longer if that was set back", async (context) => {
  const steps: readonly (readonly [stepMs: number, id: number])[] = [
    [hourMs, 1],
    [23 * hourMs, 1],
    [24 * hourMs - 1_000, 1],
    [24 * hourMs, 1],
    [24 * hourMs + 2_000, 2],
    [-hourMs, 1],
    [-48 * hourMs, 1],
  ];
  for (const [stepMs, id] of steps) {
    const { clock, open } = await placeOf(context);
    const first = await open();
    await first.add(rex, hash);
    await first.close();
    clock.stepWall(stepMs);
    assert.equal((await (await open()).add(rex, hash)).id, id, String(stepMs));
  }
});

test("a hash counts for 24 hours in all, before a restart and after it, or from the start if the clock was set back", async (context) => {
  for (const [stepMs, leftMs] of [[23 * hourMs, hourMs], [-5 * hourMs, 24 * hourMs]] as const) {
    const { clock, open } = await placeOf(context);
    const first = await open();
    await first.add(rex, hash);
    await first.close();
    clock.stepWall(stepMs);
    const second = await open();
    clock.advance(leftMs);
    assert.equal((await second.add(rex, hash)).id, 1);
    clock.advance(2_000);
    assert.equal((await second.add(rex, hash)).id, 2);
  }
});

test("a line with a malformed hash or time, or a member after them, stops the start", async (context) => {
  const members = '"name":"Rex","categoryId":1,"status":"available","group":1';
  const endings = [
    `"once":"${hash}"`,
    `"once":"${hash}","at":`,
    `"once":"${hash}","at":-1`,
    `"once":"${hash}","at":1e3`,
    `"once":"${hash}","at":1,"more":1`,
    `"once":"${hash.slice(1)}","at":1`,
    `"once":"${hash}x","at":1`,
    `"at":1,"once":"${hash}"`,
    `"once":"","at":1`,
    `"onc":"${hash}","at":1`,
  ];
  for (const ending of endings) {
    const { path, open } = await placeOf(context);
    await writeFile(path, lineWithChecksum(`{"id":1,${members},${ending}}`));
    await assert.rejects(open(), DamagedLogError, ending);
  }
});

test("a create at any second of a clock that begins with 1970, or is set before it, is read at the next start", async (context) => {
  const { clock, open } = await placeOf(context);
  for (const [index, wallMs] of [0, 999, -1_000].entries()) {
    clock.stepWall(wallMs - clock.wallMs());
    const store = await open();
    const text = `${index}`.padStart(22, "a");
    assert.equal((await store.add(rex, text)).id, index + 1);
    await store.close();
    const again = await open();
    assert.equal((await again.add(rex, text)).isReplay, true, `${wallMs} ms`);
    await again.close();
  }
});
