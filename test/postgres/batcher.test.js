import assert from "node:assert/strict";
import { test } from "node:test";
import { Batcher, waitingMax } from "../../build/src/postgres/batcher.js";

test("while the database is slow, a bounded number of items waits, and the rest is refused at once", async () => {
  let answer;
  const batches = [];
  const run = (items) => {
    batches.push(items.length);
    return batches.length > 1 ? Promise.resolve(items) : new Promise((resolve) => (answer = () => resolve(items)));
  };
  const batcher = new Batcher(run, { concurrency: 1, sizeMax: () => 100, isAvailable: () => true });
  const first = batcher.add("first");
  await new Promise((resolve) => setImmediate(resolve)); // It is under way.
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
  const batcher = new Batcher(() => new Promise(() => undefined), { concurrency: 1, sizeMax: () => 100, isAvailable: () => isAvailable });
  void batcher.add("first");
  isAvailable = false;
  await assert.rejects(batcher.add("second"), { name: "StorageUnavailableError" });
});
