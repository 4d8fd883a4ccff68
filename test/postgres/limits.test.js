/**
 * The limits in the database decide as those in memory do: random histories of both, with unbans and resets, on one clock.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { MemoryLimiter } from "../../build/src/limits/memory-limiter.js";
import { Database } from "../../build/src/postgres/database.js";
import { DatabaseError } from "../../build/src/postgres/database-error.js";
import { PostgresKeyLog } from "../../build/src/postgres/postgres-key-log.js";
import { PostgresLimiter } from "../../build/src/postgres/postgres-limiter.js";
import { purge } from "../../build/src/postgres/postgres-engine.js";
import { keysOver } from "../../build/test/support/key-folder.js";
import { ManualClock } from "../../build/test/support/manual-clock.js";
import { SeededRandom } from "../../build/test/support/seeded-random.js";
import { skip } from "./postgres-server.js";
import { createPlace } from "./places.js";

const decisionCount = Number(process.env.LIMITS_DECISIONS ?? 100_000);
const seed = Number(process.env.LIMITS_SEED ?? Math.floor(Math.random() * 2 ** 32));

/** Steps of the clock, which is set back now and then, too: within a batch's time, about a second, about a window, about a ban, about a day. */
const steps = [0, 1, 999, 1_000, 1_001, 30_000, 59_999, 60_000, 299_999, 300_000, 3_600_000, 86_399_999, 86_400_000];

const plan = { name: "enterprise", perMinute: 1, perDay: 1_000 };

/** What an instance has, on a new database whose clock is the given one. */
async function start(context, clock) {
  const { options, remove } = await createPlace(clock);
  context.after(remove);
  const database = new Database(options.database, assert.fail);
  const log = await PostgresKeyLog.open({ database, clock, report: assert.fail });
  return { database, limiter: new PostgresLimiter(database, clock), keys: keysOver(log, { clock, randomBytes }) };
}

test(`${decisionCount} random decisions in SQL are those in memory (seed ${seed})`, { skip }, async (context) => {
  const random = new SeededRandom(seed);
  const below = (max) => random.integer(0, max - 1);
  const clock = new ManualClock({ wallMs: Date.UTC(2026, 10, 21) });
  const inMemory = new MemoryLimiter({ clock });
  const { database, limiter: inDatabase, keys: store } = await start(context, clock);
  const keys = [];
  for (let count = 0; count < 12; count += 1) {
    const quota = { perMinute: 1 + below(6), perDay: 1 + below(40) };
    keys.push({ id: (await store.create()).id, plan: { name: "enterprise", ...quota } });
  }
  const kinds = new Map();
  for (let count = 0; count < decisionCount; ) {
    clock.advance(below(3) > 0 ? below(1_500) : steps[below(steps.length)]);
    if (below(50) === 0) {
      await purge(database, new AbortController().signal);
    }
    if (below(100) === 0) {
      // The time between a key's last decision before and its first one after is what nobody can know.
      const lookAtAll = () => Promise.all(keys.map(({ id, plan }) => inDatabase.peek(id, plan)));
      await lookAtAll();
      clock.stepWall(-below(200_000_000));
      await lookAtAll();
    }
    if (below(30) === 0) {
      const [change, { id }] = [["unban", "reset"][below(2)], keys[below(keys.length)]];
      await store[change](id);
      inMemory[change](id);
    }
    const calls = Array.from({ length: 1 + below(80) }, () => [
      below(10) > 0 ? "take" : "peek",
      keys[below(keys.length)],
    ]);
    if (below(40) === 0) {
      const key = keys[below(keys.length)];
      key.plan = { name: "enterprise", perMinute: 1 + below(6), perDay: 1 + below(40) };
    }
    const inSql = await Promise.all(calls.map(([method, { id, plan }]) => inDatabase[method](id, plan).then(shown)));
    const expected = inOrderOfBatch(calls, inMemory);
    calls.forEach(([method, { id }], index) => {
      assert.deepEqual(inSql[index], expected[index], `seed ${seed}, after ${count}: ${method} of ${id}`);
      kinds.set(inSql[index].kind, (kinds.get(inSql[index].kind) ?? 0) + 1);
    });
    count += calls.length;
  }
  for (const kind of ["allowed", "rate_limited", "key_banned"]) {
    assert.ok(kinds.get(kind) > decisionCount / 100, `${kind}: ${kinds.get(kind)}`);
  }
  assert.equal(inDatabase.banCount, inMemory.banCount);
});

/** All that a response can show of a decision. */
function shown({ quotas = () => undefined, ...decision }) {
  return { ...decision, quotas: quotas() };
}

/** A look takes no token, so it shows what all decisions of its batch have left. */
function inOrderOfBatch(calls, limiter) {
  const results = [];
  for (const isLook of [false, true]) {
    calls.forEach(([method, { id, plan }], index) => {
      if ((method !== "take") === isLook) {
        results[index] = shown(limiter[method](id, plan));
      }
    });
  }
  return results;
}

test("a failure of the database is 'unavailable', with the full quota if nothing is known; any other error is not hidden", async () => {
  const clock = new ManualClock();
  const failingWith = (error) => new PostgresLimiter({ isAvailable: true, run: () => Promise.reject(error) }, clock);
  const away = failingWith(new DatabaseError("unknown", new Error("away")));
  const { kind, limit, remaining } = await away.take("key_1", plan);
  assert.deepEqual([kind, limit, remaining], ["unavailable", 1, 1]);
  await assert.rejects(failingWith(new TypeError("a fault of ours")).take("key_1", plan), TypeError);
});

test("a clock of the database that is set back lengthens no window and no ban, and brings none back", { skip }, async (context) => {
  const clock = new ManualClock();
  const { keys, limiter } = await start(context, clock);
  const { id: unbanned } = await keys.create();
  const take = async (keyId) => {
    const { kind, retryAfterSeconds } = await limiter.take(keyId, plan);
    return [kind, retryAfterSeconds];
  };

  for (const keyId of ["window", "banned", unbanned]) {
    await take(keyId);
  }
  for (let refusals = 0; refusals < 10; refusals += 1) {
    clock.advance(refusals > 0 ? 1_000 : 0);
    await take("banned");
    await take(unbanned);
  }
  clock.advance(50_000);
  assert.deepEqual(await Promise.all(["window", "banned", unbanned].map(take)), [
    ["rate_limited", 1],
    ["key_banned", 250],
    ["key_banned", 250],
  ]);
  clock.advance(1_000); // Which is lost when the clock is set back: no decision of the other two was made after it.
  await keys.unban(unbanned);
  clock.stepWall(-3_600_000);
  assert.deepEqual(await Promise.all(["window", "banned", unbanned].map(take)), [
    ["rate_limited", 1],
    ["key_banned", 250],
    ["allowed", undefined],
  ]);

  clock.advance(1_000);
  const { day } = (await limiter.take("window", plan)).quotas();
  assert.deepEqual([day.remaining, day.resetSeconds - clock.wallMs() / 1_000], [998, 86_400 - 60]);
  clock.advance(249_000);
  assert.deepEqual(await take("banned"), ["allowed", undefined]);
  clock.stepWall(-3_600_000);
  assert.deepEqual(await take("banned"), ["rate_limited", 60]);
});

test("the limits' clock is the database's: that of an instance may be an hour off", { skip }, async (context) => {
  const clock = new ManualClock();
  const { database } = await start(context, clock);
  for (const offMs of [0, 3_600_000, -3_600_000]) {
    const own = new ManualClock({ wallMs: clock.wallMs() + offMs });
    const limiter = new PostgresLimiter(database, own);
    const resetSeconds = clock.wallMs() / 1_000 + 60;
    const served = await limiter.take(`key ${offMs}`, plan);
    assert.deepEqual([served.kind, served.remaining, served.resetSeconds], ["allowed", 0, resetSeconds]);
    const refused = await limiter.take(`key ${offMs}`, plan);
    assert.deepEqual([refused.kind, refused.retryAfterSeconds, refused.resetSeconds], ["rate_limited", 60, resetSeconds]);
    assert.equal(served.quotas().minute.resetSeconds, resetSeconds);
  }
});

test("if the statement for new keys fails, the requests of known keys in the same batch are served", async () => {
  const clock = new ManualClock();
  const served = [1, 1_000, 1, 61_000, 1, 86_401_000, 0, 0, 0, 0];
  const answers = [{ keys: ["known", "new"], limits: [served, served.map(() => 0)] }];
  const run = async () => {
    if (answers.length === 0) throw new DatabaseError("unknown", new Error("away"));
    return [{ answer: JSON.stringify(answers.shift()) }];
  };
  const limiter = new PostgresLimiter({ isAvailable: true, run }, clock);
  const decisions = await Promise.all(["new", "known"].map((keyId) => limiter.take(keyId, plan)));
  assert.deepEqual(decisions.map(({ kind }) => kind), ["unavailable", "allowed"]);
});

test("take() of a batch in which the plan changes says of every refusal when a retry succeeds", async () => {
  const clock = new ManualClock({ wallMs: 1_000 });
  const used = [0, 1_000, 10, 61_000, 10, 86_401_000, 1, 2_000, 0, 0];
  const run = async () => [{ answer: JSON.stringify({ keys: ["key_1"], limits: [used] }) }];
  const limiter = new PostgresLimiter({ isAvailable: true, run }, clock);
  const plans = [{ perMinute: 300, perDay: 10_000 }, { perMinute: 10, perDay: 100 }].map((quota) => ({ name: "enterprise", ...quota }));
  const decisions = await Promise.all(plans.map((plan) => limiter.take("key_1", plan)));
  const refused = { kind: "rate_limited", limit: 10, remaining: 0, resetSeconds: 61, waitsFor: "minute", retryAfterSeconds: 60 };
  assert.deepEqual(decisions, [refused, refused]);
});

test("unban() of a key that was never banned forgets its refusals, and its next ban lasts as long as a first one", { skip }, async (context) => {
  const clock = new ManualClock();
  const { keys, limiter } = await start(context, clock);
  const { id } = await keys.create();
  const takeEachSecond = async (count) => {
    const kinds = [];
    for (let taken = 0; taken < count; taken += 1) {
      const { kind, retryAfterSeconds } = await limiter.take(id, plan);
      kinds.push(kind === "key_banned" ? retryAfterSeconds : kind);
      clock.advance(1_000);
    }
    return kinds;
  };
  const refused = Array(9).fill("rate_limited");
  assert.deepEqual(await takeEachSecond(10), ["allowed", ...refused]);
  await keys.unban(id);
  assert.deepEqual(await takeEachSecond(10), [...refused, 300]);
});
