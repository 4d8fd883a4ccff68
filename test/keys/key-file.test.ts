/**
 * How a running store follows a key file that others write, tear, damage and replace. In each test, `store` is the
 * server's; others are commands in other processes, which share with it nothing but the folder.
 */

import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { test } from "node:test";
import { setImmediate as turnOfTheEventLoop } from "node:timers/promises";

import type { Disk, DiskFile } from "../../src/disk/disk.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { encodeKeyEvent } from "../../src/keys/key-line.ts";
import { KeyStore } from "../../src/keys/key-store.ts";
import { lineWithChecksum } from "../../src/log/checksum.ts";
import { ask, KeyFolder } from "../support/key-folder.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { seededBytes } from "../support/random-bytes.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { type Fault, SimulatedDisk } from "../support/simulated-disk.ts";

function methodsOf(file: DiskFile): DiskFile {
  return {
    read: (target, position) => file.read(target, position),
    append: (bytes) => file.append(bytes),
    overwrite: (bytes, position) => file.overwrite(bytes, position),
    sync: () => file.sync(),
    truncate: (size) => file.truncate(size),
    size: () => file.size(),
    isInPlace: () => file.isInPlace(),
    close: () => file.close(),
  };
}

/** The disk of this machine, with another `read` for every file. */
function diskThatReads(read: (file: DiskFile, target: Uint8Array, position: number) => Promise<number>): Disk {
  return {
    ...nodeDisk,
    openToRead: async (path) => {
      const file = await nodeDisk.openToRead(path);
      return file && { ...methodsOf(file), read: (target, position) => read(file, target, position) };
    },
  };
}

/** Looks until what the file is now has been judged. */
async function settle(folder: KeyFolder, store: KeyStore): Promise<void> {
  await store.follow();
  folder.clock.advance(100);
  await store.follow();
  await store.follow();
}

/** One bit of the line's middle is flipped. */
function damaged(line: string): string {
  const at = line.length >> 1;
  return `${line.slice(0, at)}${String.fromCharCode(line.charCodeAt(at) ^ 1)}${line.slice(at + 1)}`;
}

interface Followed {
  readonly store: KeyStore;
  readonly keys: readonly string[];
  readonly ids: readonly string[];
  readonly lines: readonly string[];
}

/** A store that follows a file of three keys and knows them all; their secrets, their ids, and the file's lines. */
async function followed(folder: KeyFolder): Promise<Followed> {
  const store = await folder.open();
  const made = [await store.create(), await store.create(), await store.create()];
  const lines = await folder.lines();
  return { store, keys: made.map(({ key }) => key), ids: made.map(({ id }) => id), lines };
}

test("KeyStore.follow() applies what another process made, changed, rotated and revoked", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  const other = await folder.openElsewhere();
  const { id, key } = await other.create();
  assert.equal(ask(store, key), "invalid");
  await store.follow();
  assert.equal(ask(store, key), id);
  await other.plan(id, { plan: "pro" });
  await store.follow();
  assert.equal(store.keyring.get(id)?.plan.name, "pro");
  const renewed = await other.rotate(id);
  await store.follow();
  assert.deepEqual([ask(store, key), ask(store, renewed.key)], ["invalid", id]);
  await other.revoke(id);
  await store.follow();
  assert.equal(ask(store, renewed.key), "invalid");
  assert.deepEqual(folder.reports, []);
});

test("KeyStore.follow() reports an unfinished last line once it stays, and reads on if it is finished", async (context) => {
  const folder = new KeyFolder(context);
  const { store, keys, ids, lines } = await followed(folder);
  const revoked = encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id: ids[0] ?? "" });
  await folder.overwrite(`${lines.join("")}${revoked.slice(0, -1)}`);
  await store.follow();
  assert.deepEqual(folder.reports, []);
  await settle(folder, store);
  assert.equal(ask(store, keys[0] ?? ""), ids[0]);
  assert.equal(folder.reports.length, 1);
  assert.match(folder.reports[0] ?? "", /ends in \d+ bytes that are not a sound line: .*; keys known so far go on working$/);
  await folder.append("\n");
  await store.follow();
  assert.equal(ask(store, keys[0] ?? ""), "invalid");
  assert.match(folder.reports[1] ?? "", /keys\.jsonl can be read again$/);
});

test("KeyStore.open() rejects damage before a sound line, and names its line and byte", async (context) => {
  const folder = new KeyFolder(context);
  const { lines } = await followed(folder);
  const place = `line 2, byte ${lines[0]?.length}`;
  const files = {
    "a flipped bit": `${lines[0]}${damaged(lines[1] ?? "")}${lines[2]}`,
    "a lost newline": `${lines[0]}${lines[1]?.trimEnd()}${lines[2]}`,
    "a blank line": `${lines[0]}\n${lines[1]}${lines[2]}`,
    "a doubled line": `${lines[0]}${lines[0]}${lines[1]}`,
    "a flipped bit, before a line that has grown together with a torn one":
      `${lines[0]}${damaged(lines[1] ?? "")}${lines[2]?.trimEnd()}${lines[2]?.slice(0, 9)}`,
    "a lost block of the disk at the end": `${lines[0]}${"\0".repeat(1_025)}`,
    "two damaged lines at the end": `${lines[0]}${damaged(lines[1] ?? "")}${damaged(lines[2] ?? "")}`,
    "a damaged line before a torn one": `${lines[0]}${damaged(lines[1] ?? "")}${lines[2]?.slice(0, 20)}`,
  };
  for (const [name, content] of Object.entries(files)) {
    await folder.overwrite(content);
    const message = new RegExp(`^Cannot read keys: .* is damaged at ${place}: `);
    await assert.rejects(folder.open(), { name: "KeyError", code: "key_file_damaged", message }, name);
    assert.equal(await folder.content(), content);
  }
});

test("KeyStore.open() stops at an event that a newer release wrote, says so, and leaves the file as it was", async (context) => {
  const folder = new KeyFolder(context);
  const { ids, lines } = await followed(folder);
  const paused = lineWithChecksum(`{"event":"paused","time":"2026-11-21T12:00:00.007Z","id":"${ids[0]}"}`);
  for (const [content, line] of [[[lines[0], paused, lines[1]], 2], [[...lines, paused], 4]] as const) {
    await folder.overwrite(content.join(""));
    const message = new RegExp(`at line ${line}, byte \\d+: it is not an event .*; a newer release may have written it$`);
    await assert.rejects(folder.open(), { code: "key_file_damaged", message });
    assert.equal(await folder.content(), content.join(""));
  }
});

test("KeyStore.open() rejects a change of a key whose creation was lost", async (context) => {
  const folder = new KeyFolder(context);
  const { store, ids } = await followed(folder);
  await store.revoke(ids[0] ?? "");
  await folder.overwrite((await folder.lines()).slice(1).join(""));
  await assert.rejects(folder.open(), /line 3, .*the key key_\w+ was never made/);
});

test("KeyStore.follow() reports damage once, keeps the known keys, and reads the repaired file", async (context) => {
  const folder = new KeyFolder(context);
  const { store, keys, ids, lines } = await followed(folder);
  const timeMs = folder.clock.wallMs();
  const events = ids.map((id) => encodeKeyEvent({ event: "revoked", timeMs, id }));
  await folder.append(`${events[0]}${damaged(events[1] ?? "")}${events[2]}`);
  await settle(folder, store);
  await folder.append(encodeKeyEvent({ event: "unbanned", timeMs, id: ids[1] ?? "" }));
  await settle(folder, store);
  assert.equal(folder.reports.length, 1);
  assert.match(folder.reports[0] ?? "", /is damaged at line 5, byte \d+: .*; keys known so far go on working$/);
  assert.deepEqual(keys.map((key) => ask(store, key)), ["invalid", ids[1], ids[2]]);
  await folder.replace(`${lines.join("")}${events.join("")}`);
  await store.follow();
  assert.deepEqual(keys.map((key) => ask(store, key)), ["invalid", "invalid", "invalid"]);
  assert.match(folder.reports[1] ?? "", /can be read again$/);
  assert.equal(folder.reports.length, 2);
});

test("KeyStore refuses to change the keys of a damaged file, and leaves it as it was", async (context) => {
  const folder = new KeyFolder(context);
  const { store, ids, lines } = await followed(folder);
  const content = `${lines.join("")}${lineWithChecksum('{"event":"renamed"}')}`;
  await folder.overwrite(content);
  for (const change of [store.create(), store.revoke(ids[0] ?? "")]) {
    await assert.rejects(change, { code: "key_file_damaged", message: /^Cannot change keys: .*line 4/ });
  }
  assert.equal(await folder.content(), content);
});

const readAgain = /^\S+keys\.jsonl was replaced or changed by another program; all keys were read from it again$/;

/** A file of as many bytes as `content`: the same lines with one other key in the place of the first. */
async function otherFile(folder: KeyFolder, content: string): Promise<string> {
  const other = new KeyFolder(folder.context);
  await (await other.open({ randomBytes: seededBytes(5) })).create();
  return `${await other.content()}${content.split(/(?<=\n)/).slice(1).join("")}`;
}

const soundFiles: Readonly<Record<string, (folder: KeyFolder, content: string) => Promise<void>>> = {
  "in place by one of the same length": async (folder, content) => folder.overwrite(await otherFile(folder, content)),
  "in place by its own end": (folder, content) => folder.overwrite(content.split(/(?<=\n)/).slice(1).join("")),
  "in place by its own beginning": (folder, content) => {
    return folder.overwrite(content.split(/(?<=\n)/).slice(0, 2).join(""));
  },
  "by rename, by a longer one": async (folder, content) => {
    await folder.replace(`${await otherFile(folder, content)}${content.split(/(?<=\n)/)[0]}`);
  },
};

for (const [how, replace] of Object.entries(soundFiles)) {
  test(`KeyStore follows by itself a sound file that was replaced ${how}, once it stays`, async (context) => {
    const folder = new KeyFolder(context);
    const { store, keys, ids } = await followed(folder);
    await settle(folder, store);
    await replace(folder, await folder.content());
    await store.follow();
    assert.deepEqual(keys.map((key) => ask(store, key)), ids, "a copy in progress may lack a revocation");
    await assert.rejects(store.create(), { code: "key_file_damaged", message: /^Cannot change keys: .* was replaced/ });
    await settle(folder, store);
    assert.equal(folder.reports.length, 1, folder.reports.join("\n"));
    assert.match(folder.reports[0] ?? "", readAgain);
    const other = await folder.openElsewhere();
    assert.deepEqual(store.keyring.list(), other.keyring.list());
    const id = other.keyring.list()[1]?.id ?? "";
    await other.revoke(id);
    await store.follow();
    assert.notEqual(store.keyring.get(id)?.revokedMs, undefined);
    await store.create();
  });
}

const unsoundFiles: Readonly<Record<string, readonly [change: (folder: KeyFolder, lines: readonly string[]) => Promise<void>, RegExp]>> = {
  "replaced by nothing": [(folder) => folder.overwrite(""), /was replaced .*, and is empty/],
  "damaged before lines that were read": [
    (folder, lines) => folder.overwrite(`${damaged(lines[0] ?? "")}${lines[1]}${lines[2]}`),
    /was replaced .*, and is damaged at line 1, byte 0/,
  ],
  removed: [(folder) => rename(folder.file, `${folder.file}.away`), /was removed/],
};

for (const [how, [change, fault]] of Object.entries(unsoundFiles)) {
  test(`KeyStore reports once that the file was ${how}, and keeps the known keys until it is back`, async (context) => {
    const folder = new KeyFolder(context);
    const { store, keys, ids, lines } = await followed(folder);
    await change(folder, lines);
    await settle(folder, store);
    assert.equal(folder.reports.length, 1, folder.reports.join("\n"));
    assert.match(folder.reports[0] ?? "", new RegExp(`${fault.source}.*; keys known so far go on working$`));
    assert.deepEqual(keys.map((key) => ask(store, key)), ids);
    for (const refused of [store.create(), store.revoke(ids[1] ?? ""), store.rotate(ids[2] ?? "")]) {
      await assert.rejects(refused, { code: "key_file_damaged", message: fault });
    }
    await folder.replace(lines.join(""));
    await settle(folder, store);
    assert.match(folder.reports[1] ?? "", /keys\.jsonl can be read again$/);
    assert.equal(folder.reports.length, 2);
  });
}

test("KeyStore.follow() gives no key back again what was used, when it reads all keys again, and follows later events", async (context) => {
  const folder = new KeyFolder(context);
  const { store, ids: [id = "", otherId = ""] } = await followed(folder);
  await store.unban(id);
  await store.reset(id);
  folder.clock.advance(1_000);
  const timeMs = folder.clock.wallMs();
  const later = (["unbanned", "reset"] as const).map((event) => encodeKeyEvent({ event, timeMs, id: otherId })).join("");
  await folder.overwrite(`${(await folder.lines()).filter((_, index) => index !== 2).join("")}${later}`);
  await settle(folder, store);
  assert.match(folder.reports.join("\n"), readAgain);
  assert.deepEqual(folder.reliefs, [`unbanned ${id}`, `reset ${id}`, `unbanned ${otherId}`, `reset ${otherId}`]);
});

test("KeyStore.follow() notices a file replaced within one tick of the file system's clock", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open({
    // Times of modification are as coarse as a second here, so that all changes of this test have the same.
    disk: {
      ...nodeDisk,
      status: async (path) => {
        const status = await nodeDisk.status(path);
        return status && { ...status, modifiedMs: 0 };
      },
    },
  });
  await store.create();
  await store.follow();
  await folder.overwrite(await otherFile(folder, await folder.content()));
  await settle(folder, store);
  assert.match(folder.reports.join("\n"), readAgain);
});

test("KeyStore.follow() never mixes two files, also if one is replaced while it is being read", async (context) => {
  const folder = new KeyFolder(context);
  const { ids, lines } = await followed(folder);
  const revoked = encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id: ids[1] ?? "" });
  await folder.overwrite(lines.join(""));
  for (const replacedAt of [1, 2, 3]) {
    await folder.overwrite(lines.join(""));
    folder.reports.length = 0;
    let readCount = 0;
    let isWatched = false;
    const store = await folder.open({
      disk: diskThatReads(async (file, target, position) => {
        readCount += isWatched ? 1 : 0;
        if (readCount === replacedAt && isWatched) {
          isWatched = false;
          // Each line is as long as another, so that the fourth of this file fits after the third of the other.
          await folder.overwrite([lines[1], lines[0], lines[2], revoked].join(""));
        }
        return file.read(target.subarray(0, lines.join("").length), position); // The old lines, then the new ones.
      }),
    });
    await folder.append(encodeKeyEvent({ event: "unbanned", timeMs: folder.clock.wallMs(), id: ids[0] ?? "" }));
    isWatched = true;
    await store.follow();
    assert.equal(isWatched, false);
    assert.equal(store.keyring.get(ids[1] ?? "")?.revokedMs, undefined, `replaced at read ${replacedAt}`);
    await settle(folder, store);
    assert.match(folder.reports.join("\n"), readAgain, `replaced at read ${replacedAt}`);
  }
});

test("KeyStore.follow() reports once that the disk fails, and reads on when it works again", async (context) => {
  const folder = new KeyFolder(context);
  let fails = false;
  const failing = diskThatReads((file, target, position) => {
    return fails ? Promise.reject(new Error("EIO: i/o error, read")) : file.read(target, position);
  });
  const store = await folder.open({ disk: failing });
  const other = await folder.openElsewhere();
  await other.create();
  await store.follow();
  fails = true;
  const { id, key } = await other.create();
  await store.follow();
  await store.follow();
  assert.equal(ask(store, key), "invalid");
  fails = false;
  await store.follow();
  assert.equal(ask(store, key), id);
  const reported = folder.reports.map((report) => /cannot be read: EIO|can be read again/.exec(report)?.[0]);
  assert.deepEqual(reported, ["cannot be read: EIO", "can be read again"]);
});

/** A server and a command on one disk, and what the command's writing meets. */
async function besideCommand(plan: (name: string) => Fault): Promise<{ server: KeyStore; command: KeyStore; during: Promise<void>[] }> {
  const simulated = new SimulatedDisk(new SeededRandom(1));
  const disk = simulated.boot();
  const clock = new ManualClock();
  const common = { disk, clock, dataDir: "/keys", randomBytes: seededBytes(1), report: assert.fail };
  const server = await KeyStore.open({ ...common, locksReads: true });
  const during: Promise<void>[] = [];
  // The server looks in the middle of each write of the command.
  const openToAppend = async (path: string): Promise<DiskFile> => {
    const file = await disk.openToAppend(path);
    const sync = async (): Promise<void> => {
      during.push(server.follow());
      for (let turn = 0; turn < 50; turn += 1) {
        await turnOfTheEventLoop();
      }
      await file.sync();
    };
    return { ...file, sync };
  };
  const command = await KeyStore.open({ ...common, disk: { ...disk, openToAppend } });
  await command.create();
  await server.follow();
  simulated.plan = (_, name) => plan(name);
  return { server, command, during };
}

for (const failing of ["sync", "append"] as const) {
  test(`a server applies no line of a write under way, and follows the file after its ${failing} has failed`, async () => {
    let isFailing = true;
    const { server, command, during } = await besideCommand((name) => {
      const fails = isFailing && name === failing;
      isFailing &&= !fails;
      return fails ? "error" : "none";
    });
    const [{ id } = { id: "" }] = server.keyring.list();
    const stored = failing === "sync" ? /may have been stored: list the keys$/ : /was not stored$/;
    await assert.rejects(command.create(), stored);
    await Promise.all(during);
    assert.equal(server.keyring.list().length, 1, "the write was under way at each look");
    assert.ok(during.length > 0);
    await server.follow();
    assert.equal(server.keyring.list().length, failing === "sync" ? 2 : 1);
    await command.revoke(id);
    await server.follow();
    assert.notEqual(server.keyring.get(id)?.revokedMs, undefined);
  });
}

test("KeyStore.create() leaves no empty file if its first append fails, and one of another process alone", async () => {
  for (const call of ["append", "sync", "syncFolder"]) {
    const disk = new SimulatedDisk(new SeededRandom(1));
    const options = { disk: disk.boot(), clock: new ManualClock(), dataDir: "/keys", randomBytes: seededBytes(1) };
    const store = await KeyStore.open({ ...options, report: assert.fail });
    disk.plan = (_, name) => (name !== call ? "none" : name === "append" ? "short" : "error");
    await assert.rejects(store.create(), call === "append" ? /was not stored$/ : /may have been stored: list the keys$/);
    assert.deepEqual(disk.names(), [], call);
    disk.plan = (_, name) => {
      if (name === "sync") {
        disk.place("/keys/keys.jsonl", Buffer.from("restored\n"));
      }
      return "none";
    };
    await assert.rejects(store.create(), /another process modified or replaced it, so the change may have been stored/);
    assert.equal(disk.seen("/keys/keys.jsonl").toString(), "restored\n");
  }
});

test("KeyStore waits for the process that writes, and rejects a change if it never ends", async (context) => {
  const folder = new KeyFolder(context);
  const holder = await nodeDisk.lock(`${folder.file}.lock`);
  const store = await folder.open();
  const creating = store.create();
  for (let turn = 0; turn < 50; turn += 1) {
    await turnOfTheEventLoop();
  }
  await assert.rejects(folder.content(), { code: "ENOENT" });
  await holder?.release();
  const { id } = await creating;
  const held = await folder.open({ locksReads: false, disk: { ...nodeDisk, lock: async () => undefined } });
  await assert.rejects(held.revoke(id), /^Error: Cannot lock \S+keys\.jsonl: another process has held the lock for 10 s$/);
});

test("KeyStore.list() has all keys that existed when it was called, also during a look", async (context) => {
  const folder = new KeyFolder(context);
  const gates: (() => void)[] = [];
  let isHeld = false;
  const disk: Disk = {
    ...nodeDisk,
    status: async (path) => {
      const status = await nodeDisk.status(path);
      if (isHeld) {
        await new Promise<void>((resolve) => gates.push(resolve));
      }
      return status;
    },
  };
  const store = await folder.open({ disk });
  isHeld = true;
  const look = store.follow();
  while (gates.length === 0) {
    await turnOfTheEventLoop();
  }
  isHeld = false;
  const { id } = await (await folder.openElsewhere()).create();
  const listed = store.list();
  gates.forEach((letGo) => letGo());
  assert.deepEqual((await listed).map((key) => key.id), [id]);
  await look;
});

test("KeyStore.rotate() rejects a key that was revoked while it waited for the lock", async (context) => {
  const folder = new KeyFolder(context);
  const other = await folder.openElsewhere();
  const { id } = await other.create();
  const store = await folder.open({
    disk: {
      ...nodeDisk,
      lock: async (path) => {
        await other.revoke(id);
        return nodeDisk.lock(path);
      },
    },
  });
  await assert.rejects(store.rotate(id), { code: "revoked_key" });
  assert.equal((await folder.lines()).length, 2);
});
