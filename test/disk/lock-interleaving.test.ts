/**
 * Goal: of contenders that race for a name exactly one has it, whatever each does between two calls of the others.
 * Method: they go on one call at a time (stepwise-lock.ts), so that each order is one that was chosen.
 */

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { chmod, link, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";

import { inFolderOf } from "../../src/disk/lock-socket.ts";
import { isLocked, lock } from "../../src/disk/lock.ts";
import { seeded, type SeededRandom } from "../support/seeded-random.ts";
import { makeLocksStepwise, StepwiseLock } from "./stepwise-lock.ts";

makeLocksStepwise();

const name = "server.lock";
const randomOrderCount = Number(process.env["ORDERS"] ?? 25);

let folder = "";
let path = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "lock-"));
  path = join(folder, name);
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** What a killed owner leaves. */
async function leaveStale(): Promise<void> {
  const socket = await inFolderOf(path, (sockets) => sockets.listen("dead", path));
  await link(join(folder, "dead"), path);
  await socket.close(); // Takes "dead" away, and leaves the other name.
  assert.deepEqual(await readdir(folder), [name]);
}

/** They have come to their ends: who has won holds the name, and after a release nothing is left. */
async function assertOneHolds(contenders: readonly StepwiseLock[], order: string): Promise<void> {
  const outcomes = contenders.map(({ outcome }) => outcome).sort();
  assert.deepEqual(outcomes, [...Array<string>(contenders.length - 1).fill("held"), "won"], order);
  assert.equal(await isLocked(path), true, order);
  assert.equal(await lock(path), undefined, order);
  assert.deepEqual(await readdir(folder), [name], order);
  await Promise.all(contenders.map((contender) => contender.release()));
  assert.deepEqual(await readdir(folder), [], order);
}

for (const before of ["free", "stale"] as const) {
  test(`lock() gives a ${before} name to exactly one of two processes, in every order with two changes of turn`, async () => {
    let orderCount = 0;
    for (let firstSteps = 0, isFirstDone = false; !isFirstDone; firstSteps++) {
      for (let secondSteps = 0, isSecondDone = false; !isSecondDone; secondSteps++) {
        if (before === "stale") {
          await leaveStale();
        }
        const first = await StepwiseLock.begin(path);
        const second = await StepwiseLock.begin(path);
        await first.steps(firstSteps);
        await second.steps(secondSteps);
        isFirstDone = first.call === undefined;
        isSecondDone = second.call === undefined;
        await first.finish();
        await second.finish();
        await assertOneHolds([first, second], `${firstSteps} calls, then ${secondSteps} of the other`);
        orderCount++;
      }
    }
    assert.ok(orderCount > 30, String(orderCount));
  });

  test(`lock() takes a ${before} name after a process that died at any call, and leaves nothing else`, async () => {
    let callCount = 0;
    for (let isDone = false; !isDone; callCount++) {
      if (before === "stale") {
        await leaveStale();
      }
      const dying = await StepwiseLock.begin(path);
      await dying.steps(callCount);
      isDone = dying.call === undefined;
      await dying.die();
      const next = await StepwiseLock.begin(path);
      assert.equal(await next.finish(), "won", `dead after ${callCount} calls`);
      await assertOneHolds([next], `dead after ${callCount} calls`);
    }
    assert.ok(callCount > 5, String(callCount));
  });
}

/** Four of them, one call each in random order, while one or the other dies. Resolves to how many died. */
async function raceInRandomOrder(random: SeededRandom): Promise<number> {
  const contenders = await Promise.all(random.times(4, () => StepwiseLock.begin(path)));
  for (;;) {
    const going = contenders.filter(({ call, isDead }) => call !== undefined && !isDead);
    if (going.length === 0) {
      break;
    }
    await random.pick(going).steps(random.integer(1, 4));
    if (random.oneIn(12)) {
      await random.pick(contenders.filter(({ isDead }) => !isDead).concat(contenders.slice(0, 1))).die();
    }
    const winners = contenders.filter(({ outcome, isDead }) => outcome === "won" && !isDead);
    assert.ok(winners.length <= 1, "two hold the name");
  }
  const owner = contenders.find(({ outcome, isDead }) => outcome === "won" && !isDead);
  assert.equal(await isLocked(path), owner !== undefined);
  const next = await lock(path);
  assert.equal(next === undefined, owner !== undefined);
  await next?.release();
  await owner?.release();
  return contenders.filter(({ isDead }) => isDead).length;
}

test("lock() never gives a name to two of four processes, in any order and with deaths at any time", seeded(
  async (random) => {
    let deaths = 0;
    for (let order = 0; order < randomOrderCount; order++) {
      if (random.oneIn(2)) {
        await leaveStale();
      }
      deaths += await raceInRandomOrder(random);
      await Promise.all((await readdir(folder)).map((leftover) => rm(join(folder, leftover), { recursive: true })));
    }
    assert.ok(deaths > 0);
  },
));

test("at no call of lock() can another user reach its socket, whatever the umask and the folder let in", async (context) => {
  const umask = process.umask(0);
  context.after(() => process.umask(umask));
  await chmod(folder, 0o755);
  const holder = await StepwiseLock.begin(path);
  let seenCount = 0;
  for (let isDone = false; !isDone; await holder.step()) {
    isDone = holder.call === undefined;
    for (const entry of await readdir(folder, { recursive: true })) {
      const found = statSync(join(folder, entry));
      // The bits of the group are the mask of an access list, too: none of its users has a right that they lack.
      const isOpen = found.isSocket() && (found.mode & 0o077) !== 0;
      assert.ok(!isOpen || (statSync(dirname(join(folder, entry))).mode & 0o077) === 0, `${entry} before ${holder.call}`);
      seenCount += Number(found.isSocket());
    }
  }
  assert.equal(holder.outcome, "won");
  assert.ok(seenCount > 3, String(seenCount));
  await holder.release();
});
