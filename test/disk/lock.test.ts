/**
 * The lock on a name, with real sockets and real processes that die.
 */

import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";

import { isLocked, lock, reach } from "../../src/disk/lock.ts";
import { root } from "../support/root.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const programPath = join(root, "build/test/disk/lock-process.js");
const name = "server.lock";
const canUnshare = spawnSync("unshare", ["-n", "true"]).status === 0;

class Contender {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;

  constructor(t: TestContext, path: string, prefix: readonly string[] = []) {
    const [command = "", ...args] = [...prefix, process.execPath, programPath, path];
    this.#child = spawn(command, args);
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    t.after(() => this.#child.kill("SIGKILL"));
  }

  async line(): Promise<string | undefined> {
    const { value } = (await this.#lines.next()) as { value: string | undefined };
    return value;
  }

  /** Lets it lock; resolves to what came of it. */
  go(): Promise<string | undefined> {
    this.#child.stdin.write("go\n");
    return this.line();
  }

  async kill(): Promise<void> {
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }
}

async function ready(t: TestContext, path: string, prefix?: readonly string[]): Promise<Contender> {
  const contender = new Contender(t, path, prefix);
  assert.equal(await contender.line(), "ready");
  return contender;
}

async function leaveStale(t: TestContext, path: string): Promise<void> {
  const contender = await ready(t, path);
  assert.equal(await contender.go(), "won");
  await contender.kill();
}

test("lock() gives a stale name to exactly one of six processes", async (t) => {
  const path = join(temporaryFolder(t), name);
  await leaveStale(t, path);
  const contenders = await Promise.all(Array.from({ length: 6 }, () => ready(t, path)));
  for (let round = 0; round < 5; round++) {
    const outcomes = await Promise.all(contenders.map((contender) => contender.go()));
    assert.deepEqual([...outcomes].sort(), ["held", "held", "held", "held", "held", "won"], `round ${round}`);
    const winner = outcomes.indexOf("won");
    await contenders[winner]?.kill(); // The others want the name that it leaves.
    contenders[winner] = await ready(t, path);
  }
});

test("lock() works in a folder whose path is too long for a socket", async (t) => {
  const folder = join(temporaryFolder(t), "f".repeat(100), "g".repeat(100));
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  await leaveStale(t, path);
  const first = await lock(path);
  assert.ok(first);
  assert.equal(await lock(path), undefined);
  assert.deepEqual(await readdir(folder), [name]);
  await first.release();
});

const skip = canUnshare ? false : "needs root and unshare";
test("lock() holds in another network namespace, which also notices the lock's owner's death", { skip }, async (t) => {
  const path = join(temporaryFolder(t), name);
  const elsewhere = await ready(t, path, ["unshare", "-n"]);
  assert.equal(await elsewhere.go(), "won");
  assert.equal(await lock(path), undefined);
  await elsewhere.kill();
  const successor = await lock(path);
  assert.ok(successor);
  const late = await ready(t, path, ["unshare", "-n"]);
  assert.equal(await late.go(), "held");
  await successor.release();
});

test("reach() leads to the lock's owner of a name, also if it answers only later, and to nobody where there is none", async (t) => {
  const path = join(temporaryFolder(t), name);
  assert.equal(await reach(path), undefined);
  const owner = await lock(path);
  const connections = [await reach(path), await reach(path)];
  owner?.answer((connection) => void connection.on("data", (text) => connection.end(`${String(text)}!`)));
  for (const connection of connections) {
    connection?.end("hello");
    assert.equal(String(await connection?.toArray()), "hello!");
  }
  await owner?.release();
  await leaveStale(t, path);
  assert.equal(await reach(path), undefined, "its process is dead");
});

test("release() leaves the name to whoever has it by then", async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, name);
  const first = await lock(path);
  await rename(path, join(folder, "moved"));
  const second = await lock(path);
  assert.ok(first && second);
  assert.deepEqual([await first.isInPlace(), await second.isInPlace()], [false, true]);
  await first.release();
  assert.equal(await isLocked(path), true);
  await second.release();
  assert.deepEqual(await readdir(folder), ["moved"]);
});

test("lock() leaves the sockets of other names where they are", async (t) => {
  const folder = temporaryFolder(t);
  await leaveStale(t, join(folder, "other.lock"));
  const mine = await lock(join(folder, name));
  await mine?.release();
  assert.deepEqual(await readdir(folder), ["other.lock"]);
});
