import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Batcher } from "../../build/src/base/batcher.js";
import { waitingMax, whyNotWait } from "../../build/src/postgres/database.js";

test("while the database is slow, a bounded number of items waits, and the rest is refused at once", async () => {
  let answer;
  const batches = [];
  const run = (items) => {
    batches.push(items.length);
    return batches.length > 1 ? Promise.resolve(items) : new Promise((resolve) => (answer = () => resolve(items)));
  };
  const batcher = new Batcher(run, { concurrency: 1, sizeMax: () => 100, refusal: (count) => whyNotWait({ isAvailable: true }, count) });
  const first = batcher.add("first");
  await turn();
  await turn(); // It is under way.
  const waiting = Array.from({ length: waitingMax }, (_, index) => batcher.add(index));
  await assert.rejects(batcher.add("one too many"), { name: "StorageUnavailableError" });
  answer();
  assert.equal(await first, "first");
  assert.deepEqual(await Promise.all(waiting), Array.from(waiting.keys()));
  assert.equal(await batcher.add("later"), "later");
  assert.deepEqual(batches, [1, ...Array(waitingMax / 100).fill(100), 1]);
});

test("while the database is away, an item is refused at once, although a batch waits", async () => {
  let isAvailable = true;
  const batcher = new Batcher(() => new Promise(() => undefined), { concurrency: 1, refusal: (count) => whyNotWait({ isAvailable }, count) });
  void batcher.add("first");
  isAvailable = false;
  await assert.rejects(batcher.add("second"), { name: "StorageUnavailableError" });
});
