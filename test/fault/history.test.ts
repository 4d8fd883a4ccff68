/**
 * Runs many random histories on a simulated disk (history.ts), and a short one in which each call fails once, as SQLite
 * is tested. More of them: `HISTORIES=100000 node --test build/test/fault/history.test.js`.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { SeededRandom, seeded } from "../support/seeded-random.ts";
import type { Fault } from "../support/simulated-disk.ts";
import { History, noCounts } from "./history.ts";

const historyCount = Number(process.env["HISTORIES"] ?? 150);
/** Of each call that fails. */
const attemptCount = Math.min(10, Math.ceil(historyCount / 50));

test("JsonLinesPetStore keeps what it acknowledged and nothing that it rejected, on a disk that fails and dies", seeded(
  async (random) => {
    const counts = noCounts();
    for (let index = 0; index < historyCount; index++) {
      const seed = random.uint32();
      try {
        await new History(new SeededRandom(seed), counts).run();
      } catch (cause) {
        throw new Error(`history ${seed}: ${String(cause)}`, { cause });
      }
    }
    for (const [name, count] of Object.entries(counts)) {
      assert.ok(count > 0, `no history had any of: ${name}`);
    }
  },
));

/** Three groups with a restart between, while calls fail. Returns how many calls that took. */
async function failingRun(random: SeededRandom, plan: (call: number, name: string) => Fault): Promise<number> {
  const history = new History(random, noCounts());
  history.disk.plan = plan;
  for (let life = 0; life < 2; life++) {
    const store = await history.open();
    if (store !== undefined) {
      await history.compare(store);
      await history.workAll(store, 3);
      await history.workAll(store, 2);
      await store.close().catch(() => undefined); // Its failing is what is being tried.
    }
  }
  const { calls } = history.disk;
  history.disk.plan = () => "none";
  history.disk.losePower();
  const healed = await history.open();
  assert.ok(healed !== undefined, "a healed disk serves again");
  await history.compare(healed);
  await history.workAll(healed, 1);
  assert.ok(healed.logBytes > 0, "a healed disk takes animals again");
  return calls;
}

for (const fault of ["error", "short"] as const) {
  for (const lasts of [false, true]) {
    test(`the Nth call fails (${fault}) ${lasts ? "and all after it" : "once"}, for every N: nothing is lost`, seeded(
      async (random) => {
        for (let nth = 1, calls = nth; nth <= calls; nth++) {
          for (let attempt = 0; attempt < attemptCount; attempt++) {
            const seed = random.uint32();
            const plan = (call: number): Fault => (call === nth || (lasts && call > nth) ? fault : "none");
            try {
              calls = Math.max(calls, await failingRun(new SeededRandom(seed), plan));
            } catch (cause) {
              throw new Error(`call ${nth}, seed ${seed}: ${String(cause)}`, { cause });
            }
          }
        }
      },
    ));
  }
}
