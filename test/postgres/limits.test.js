/**
 * The limits in the database decide as those in memory do: random histories of both, on one clock.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryLimiter } from "../../build/src/limits/memory-limiter.js";
import { Database, DatabaseError } from "../../build/src/postgres/database.js";
import { PostgresLimiter } from "../../build/src/postgres/postgres-limiter.js";
import { ManualClock } from "../../build/test/support/manual-clock.js";
import { SeededRandom } from "../../build/test/support/seeded-random.js";
import { skip } from "./engine.js";
import { createPlace } from "./places.js";

const decisionCount = Number(process.env.LIMITS_DECISIONS ?? 100_000);
const seed = Number(process.env.LIMITS_SEED ?? Math.floor(Math.random() * 2 ** 32));

/** Steps of the clock: within a batch's time, about a second, about a window, about a ban, about a day. */
const steps = [0, 1, 999, 1_000, 1_001, 30_000, 59_999, 60_000, 299_999, 300_000, 3_600_000, 86_399_999, 86_400_000];

test(`${decisionCount} random decisions in SQL are those in memory (seed ${seed})`, { skip }, async (context) => {
  const random = new SeededRandom(seed);
  const below = (max) => random.integer(0, max - 1);
  const clock = new ManualClock({ wallMs: Date.UTC(2026, 10, 21) });
  const { options, remove } = await createPlace(clock);
  context.after(remove);
  const inMemory = new MemoryLimiter({ clock });
  const inDatabase = new PostgresLimiter(new Database(options.database, assert.fail), clock);
  const keys = Array.from({ length: 12 }, (_, index) => {
    const quota = { perMinute: 1 + below(6), perDay: 1 + below(40) };
    return { id: `key_${index}`, plan: { name: "enterprise", quota } };
  });
  const kinds = new Map();
  for (let count = 0; count < decisionCount; ) {
    clock.advance(below(3) > 0 ? below(1_500) : steps[below(steps.length)]);
    const calls = Array.from({ length: 1 + below(80) }, () => [
      below(10) > 0 ? "take" : ["peek", "quotas"][below(2)],
      keys[below(keys.length)],
    ]);
    if (below(40) === 0) {
      const key = keys[below(keys.length)];
      key.plan = { name: "enterprise", quota: { perMinute: 1 + below(6), perDay: 1 + below(40) } };
    }
    const inSql = await Promise.all(calls.map(([method, { id, plan }]) => inDatabase[method](id, plan)));
    const expected = inOrderOfBatch(calls, inMemory);
    calls.forEach(([method, { id }], index) => {
      assert.deepEqual({ ...inSql[index] }, { ...expected[index] }, `seed ${seed}, after ${count}: ${method} of ${id}`);
      kinds.set(inSql[index].kind, (kinds.get(inSql[index].kind) ?? 0) + 1);
    });
    count += calls.length;
  }
  for (const kind of ["allowed", "rate_limited", "key_banned"]) {
    assert.ok(kinds.get(kind) > decisionCount / 100, `${kind}: ${kinds.get(kind)}`);
  }
  assert.equal(inDatabase.banCount, inMemory.banCount);
});

/** A look takes no token, so it shows what all decisions of its batch have left. */
function inOrderOfBatch(calls, limiter) {
  const results = [];
  for (const isLook of [false, true]) {
    calls.forEach(([method, { id, plan }], index) => {
      if ((method !== "take") === isLook) {
        results[index] = limiter[method](id, plan);
      }
    });
  }
  return results;
}

test("a failure of the database is 'unavailable', with the full quota if nothing is known; any other error is not hidden", async () => {
  const clock = new ManualClock();
  const plan = { name: "free", quota: { perMinute: 60, perDay: 1_000 } };
  const failingWith = (error) => new PostgresLimiter({ run: () => Promise.reject(error) }, clock);
  const away = failingWith(new DatabaseError("unknown", new Error("away")));
  const { kind, limit, remaining } = await away.take("key_1", plan);
  assert.deepEqual([kind, limit, remaining], ["unavailable", 60, 60]);
  await assert.rejects(away.quotas("key_1", plan), { name: "StorageUnavailableError" });
  await assert.rejects(failingWith(new TypeError("a fault of ours")).take("key_1", plan), TypeError);
});

test("a clock of the database that is set back lengthens no window and no ban", { skip }, async (context) => {
  const clock = new ManualClock();
  const { options, remove } = await createPlace(clock);
  context.after(remove);
  const limiter = new PostgresLimiter(new Database(options.database, assert.fail), clock);
  const plan = { name: "enterprise", quota: { perMinute: 1, perDay: 1_000 } };
  const backMs = 3_600_000;
  const nowSeconds = () => clock.wallMs() / 1_000;

  await limiter.take("window", plan);
  await limiter.take("banned", plan);
  for (let refusals = 0; refusals < 10; refusals += 1) {
    await limiter.take("banned", plan);
    clock.advance(1_000);
  }
  clock.stepWall(-backMs);
  const window = await limiter.quotas("window", plan);
  assert.deepEqual([window.minute.remaining, window.minute.resetSeconds - nowSeconds()], [0, 60]);
  assert.deepEqual([window.day.remaining, window.day.resetSeconds - nowSeconds()], [999, 86_400]);
  const banned = await limiter.take("banned", plan);
  assert.deepEqual([banned.kind, banned.retryAfterSeconds], ["key_banned", 300]);

  clock.advance(60_000);
  assert.equal((await limiter.take("window", plan)).kind, "allowed");
  clock.advance(240_000);
  assert.equal((await limiter.take("banned", plan)).kind, "allowed");
});
