/**
 * The real disk: the event loop waits for none of its calls. Folders are made with those above them, by several at once.
 */

import assert from "node:assert/strict";
import fs, { statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { mock, test } from "node:test";

import { temporaryFolder } from "../support/temporary-folder.ts";

/** What was synced, in the place of syncing it. */
const syncedInodes: number[] = [];
mock.method(fs, "fsync", (descriptor: number, done: (error: Error | null) => void) => {
  syncedInodes.push(fs.fstatSync(descriptor).ino);
  done(null);
});
syncBuiltinESMExports();
const { nodeDisk } = await import("../../src/disk/node-disk.ts");

test("a file whose folder was replaced by a file is not in its place", async (context) => {
  const folder = join(temporaryFolder(context), "data");
  fs.mkdirSync(folder);
  const file = await nodeDisk.openToAppend(join(folder, "log"));
  fs.renameSync(folder, `${folder}.old`);
  fs.writeFileSync(folder, "");
  assert.deepEqual(await file.stat(), { isInPlace: false, byteCount: 0 });
  await file.close();
});

test("no call for a file waits on the event loop's thread, where it would stop all reads", async (context) => {
  const path = join(temporaryFolder(context), "log");
  const names = Object.keys(fs).filter((name) => name.endsWith("Sync") && typeof fs[name as "writeSync"] === "function");
  const mocks = names.map((name) => mock.method(fs, name as "writeSync", () => assert.fail(`${name} was called`)));
  syncBuiltinESMExports();
  try {
    const file = await nodeDisk.openToAppend(path);
    assert.equal(await file.append(Buffer.from("one\n")), 4);
    await file.overwrite(Buffer.from("two\n"), 0);
    await file.sync();
    assert.deepEqual(await file.stat(), { isInPlace: true, byteCount: 4 });
    assert.equal(await file.read(Buffer.alloc(9), 0), 4);
    await file.truncate(3);
    await nodeDisk.rename(path, `${path}.new`);
    assert.deepEqual(await file.stat(), { isInPlace: false, byteCount: 3 });
    await file.close();
    assert.deepEqual([await nodeDisk.exists(path), await nodeDisk.openToRead(path)], [false, undefined]);
    await nodeDisk.remove(`${path}.new`);
  } finally {
    mocks.forEach((one) => one.mock.restore());
    syncBuiltinESMExports();
  }
});

test("a count that no file can have is an error of a read and of a write", async (context) => {
  const file = await nodeDisk.openToAppend(join(temporaryFolder(context), "log"));
  try {
    for (const count of [undefined, -1, 5, 1.5, NaN, "4", { bytesRead: 4 }]) {
      const done = (...parameters: unknown[]): void => (parameters.at(-1) as (error: null, count: unknown) => void)(null, count);
      const mocks = [mock.method(fs, "read", done), mock.method(fs, "write", done)];
      syncBuiltinESMExports();
      const calls = [file.read(Buffer.alloc(4), 0), file.append(Buffer.from("one\n")), file.overwrite(Buffer.from("two\n"), 0)];
      const outcomes = await Promise.allSettled(calls);
      mocks.forEach((one) => one.mock.restore());
      syncBuiltinESMExports();
      for (const outcome of outcomes) {
        assert.match(String(outcome.status === "rejected" && outcome.reason), /fs\.\w+ of 4 bytes has returned/, String(count));
      }
    }
  } finally {
    await file.close();
  }
});

test("makeFolder() makes the folders above as well, for the owner alone, and two may do so at once", async (context) => {
  const folder = temporaryFolder(context);
  const path = join(folder, "a", "b", "c");
  await Promise.all([nodeDisk.makeFolder(path), nodeDisk.makeFolder(path), nodeDisk.makeFolder(join(folder, "a"))]);
  await nodeDisk.makeFolder(path);
  for (const made of [join(folder, "a"), path]) {
    assert.equal(statSync(made).mode & 0o777, 0o700, made);
  }
});

test("makeFolder() syncs the folder above each one that it makes, and no other", async (context) => {
  const folder = temporaryFolder(context);
  syncedInodes.length = 0;
  await nodeDisk.makeFolder(join(folder, "a", "b"));
  assert.deepEqual(syncedInodes, [folder, join(folder, "a")].map((path) => statSync(path).ino));
});
