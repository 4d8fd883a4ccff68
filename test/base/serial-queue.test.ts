import assert from "node:assert/strict";
import { test } from "node:test";

import { SerialQueue } from "../../src/base/serial-queue.ts";

test("SerialQueue.run() begins each piece of work when the one before has ended, also where that failed", async () => {
  const queue = new SerialQueue();
  const events: string[] = [];
  const work = (name: string, error?: Error) => async (): Promise<string> => {
    events.push(`${name} begins`);
    await new Promise(setImmediate);
    events.push(`${name} ends`);
    if (error !== undefined) {
      throw error;
    }
    return name;
  };
  const results = [queue.run(work("first", new Error("no"))), queue.run(work("second")), queue.run(work("third"))];
  await queue.idle();
  assert.deepEqual(events, ["first begins", "first ends", "second begins", "second ends", "third begins", "third ends"]);
  const settled = await Promise.allSettled(results);
  assert.deepEqual(settled.map(({ status }) => status), ["rejected", "fulfilled", "fulfilled"]);
});
