/**
 * How a running store follows a key file that others write, tear, damage and replace. In each test, `store` is the
 * server's; others are commands in other processes, which share with it nothing but the folder.
 */

import assert from "node:assert/strict";
import { mkdir, rename } from "node:fs/promises";
import { test } from "node:test";
import { setImmediate as turnOfTheEventLoop } from "node:timers/promises";

import type { Disk, DiskFile } from "../../src/disk/disk.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { encodeKeyEvent } from "../../src/keys/key-line.ts";
import type { KeyStore } from "../../src/keys/key-store.ts";
import { createKeyId } from "../../src/keys/key.ts";
import { createPlan } from "../../src/limits/plans.ts";
import { lineWithChecksum } from "../../src/log/checksum.ts";
import { ask, KeyFolder } from "../support/key-folder.ts";
import { seededBytes } from "../support/random-bytes.ts";

function methodsOf(file: DiskFile): DiskFile {
  return {
    read: (target, position) => file.read(target, position),
    append: (bytes) => file.append(bytes),
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

test("KeyStore.follow() reads nothing of a file that has not changed for a while", async (context) => {
  const folder = new KeyFolder(context);
  const positions: number[] = [];
  const store = await folder.open({
    disk: diskThatReads((file, target, position) => {
      positions.push(position);
      return file.read(target, position);
    }),
  });
  const other = await folder.openElsewhere();
  await other.create();
  await store.follow();
  folder.clock.advance(100);
  await store.follow();
  positions.length = 0;
  await store.follow();
  assert.deepEqual(positions, []);
});

test("KeyStore.follow() reads a file of which only the size or only the time has changed", async (context) => {
  for (const member of ["size", "modifiedMs"] as const) {
    const folder = new KeyFolder(context);
    const other = await folder.openElsewhere();
    const { id, key } = await other.create();
    const status = { size: 1, modifiedMs: 1 };
    const statusOf: Disk["status"] = async (path) => (path.endsWith("keys.jsonl") ? { ...status } : undefined);
    const store = await folder.open({ disk: { ...nodeDisk, status: statusOf } });
    folder.clock.advance(100);
    await store.follow();
    await other.revoke(id);
    await store.follow();
    assert.equal(ask(store, key), id);
    status[member] += 1;
    await store.follow();
    assert.equal(ask(store, key), "invalid", member);
  }
});

test("KeyStore closes the file after each look, also after one that fails", async (context) => {
  const folder = new KeyFolder(context);
  const opened: DiskFile[] = [];
  const closed: DiskFile[] = [];
  let read = (file: DiskFile, target: Uint8Array, position: number): Promise<number> => file.read(target, position);
  const openToRead = async (path: string): Promise<DiskFile> => {
    const file = (await nodeDisk.openToRead(path)) ?? assert.fail("there is no file");
    opened.push(file);
    const close = (): Promise<void> => (closed.push(file), file.close());
    return { ...methodsOf(file), close, read: (target, position) => read(file, target, position) };
  };
  await (await folder.openElsewhere()).create();
  const store = await folder.open({ disk: { ...nodeDisk, openToRead } });
  await store.create();
  read = () => Promise.reject(new Error("EIO"));
  await store.follow();
  assert.match(folder.reports.join("\n"), /cannot be read: EIO/);
  assert.ok(opened.length >= 3);
  assert.deepEqual(closed, opened);
});

test("KeyStore.follow() reports a half-written last line only if it is the same at the next look", async (context) => {
  const folder = new KeyFolder(context);
  const { store, keys, ids, lines } = await followed(folder);
  const revoked = encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id: ids[0] ?? "" });
  const cuts = [1, 20, revoked.length - 1];
  for (const cut of cuts) {
    await folder.overwrite(`${lines.join("")}${revoked.slice(0, cut)}`);
    await store.follow();
  }
  assert.deepEqual(folder.reports, []);
  assert.equal(ask(store, keys[0] ?? ""), ids[0]);
  await store.follow();
  await store.follow();
  assert.equal(folder.reports.length, 1);
  assert.match(folder.reports[0] ?? "", /ends in (?:\d+ bytes that are|1 byte that is) not a sound line: .*; keys known so far go on/);
  await folder.append("\n");
  await store.follow();
  assert.equal(ask(store, keys[0] ?? ""), "invalid");
  assert.match(folder.reports[1] ?? "", /keys\.jsonl can be read again$/);
});

test("KeyStore.follow() reports no damage for a line that is finished while it reads", async (context) => {
  const folder = new KeyFolder(context);
  const { ids, lines } = await followed(folder);
  const timeMs = folder.clock.wallMs();
  const [first, second] = ids.map((id) => encodeKeyEvent({ event: "revoked", timeMs, id }));
  await folder.overwrite(lines.join(""));
  let rest = "";
  const store = await folder.open({
    disk: diskThatReads(async (file, target, position) => {
      const count = await file.read(target, position);
      if (count === 0) {
        await folder.append(rest);
        rest = "";
      }
      return count;
    }),
  });
  await folder.append(first?.slice(0, 30) ?? "");
  rest = `${first?.slice(30)}${second}`;
  await store.follow();
  assert.deepEqual(ids.map((id) => store.keyring.get(id)?.revokedMs), [undefined, undefined, undefined]);
  await store.follow();
  assert.deepEqual(folder.reports, []);
  assert.deepEqual(ids.map((id) => store.keyring.get(id)?.revokedMs), [timeMs, timeMs, undefined]);
});

test("KeyStore.open() reports a torn last line at once, and the keys before it work", async (context) => {
  const folder = new KeyFolder(context);
  const { keys, ids, lines } = await followed(folder);
  for (const cut of [1, 40, (lines[2]?.length ?? 0) - 1]) {
    await folder.overwrite(`${lines[0]}${lines[1]}${lines[2]?.slice(0, cut)}`);
    folder.reports.length = 0;
    const store = await folder.open();
    assert.deepEqual(keys.map((key) => ask(store, key)), [ids[0], ids[1], "invalid"]);
    assert.equal(folder.reports.length, 1);
    await store.follow();
    await store.follow();
    assert.equal(folder.reports.length, 1);
    assert.match(folder.reports[0] ?? "", new RegExp(`ends in ${cut === 1 ? "1 byte that is" : `${cut} bytes that are`} not a sound line`));
  }
});

test("KeyStore.create() appends to a file whose last line was torn by a crash", async (context) => {
  const folder = new KeyFolder(context);
  const { keys, ids, lines } = await followed(folder);
  // A whole one whose pages arrived in part: its newline is there.
  for (const torn of [lines[2]?.slice(0, -1), damaged(lines[2] ?? "")]) {
    await folder.overwrite(`${lines[0]}${lines[1]}${torn}`);
    const store = await folder.open();
    folder.reports.length = 0;
    const { id, key } = await store.create();
    assert.match(folder.reports[0] ?? "", /keys\.jsonl was moved to .*keys\.jsonl\.torn$/);
    for (const one of [store, await folder.open()]) {
      assert.deepEqual([...keys, key].map((secret) => ask(one, secret)), [ids[0], ids[1], "invalid", id]);
    }
  }
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
    "an event of a newer release": `${lines[0]}${lineWithChecksum('{"event":"renamed"}')}`,
  };
  for (const [name, content] of Object.entries(files)) {
    await folder.overwrite(content);
    const message = new RegExp(`^Cannot read keys: .* is damaged at ${place}: `);
    await assert.rejects(folder.open(), { name: "KeyError", code: "key_file_damaged", message }, name);
    assert.equal(await folder.content(), content);
  }
});

test("KeyStore.open() names the file that it cannot read", async (context) => {
  const folder = new KeyFolder(context);
  await mkdir(folder.file);
  await assert.rejects(folder.open(), { code: "EISDIR", path: folder.file, message: /^Cannot read .*keys\.jsonl: EISDIR/ });
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
  for (let look = 0; look < 3; look += 1) {
    await store.follow();
  }
  await folder.append(encodeKeyEvent({ event: "unbanned", timeMs, id: ids[1] ?? "" }));
  await store.follow();
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

const replacedMessage =
  /keys\.jsonl was replaced or changed by another program; keys known so far go on working; restart the server to read it$/;

/** A file of as many bytes as `content`: the same lines with one other key in the place of the first. */
async function otherFile(folder: KeyFolder, content: string): Promise<string> {
  const other = new KeyFolder(folder.context);
  await (await other.open({ randomBytes: seededBytes(5) })).create();
  return `${await other.content()}${content.split(/(?<=\n)/).slice(1).join("")}`;
}

const replacements: Readonly<Record<string, (folder: KeyFolder, content: string) => Promise<void>>> = {
  "in place by one of the same length": async (folder, content) => folder.overwrite(await otherFile(folder, content)),
  "in place by a longer one": async (folder, content) => {
    await folder.overwrite(`${await otherFile(folder, content)}${content.split(/(?<=\n)/)[0]}`);
  },
  "in place by a shorter one": (folder, content) => folder.overwrite(content.split(/(?<=\n)/).slice(1).join("")),
  "in place by its own beginning": (folder, content) => {
    return folder.overwrite(content.split(/(?<=\n)/).slice(0, 2).join(""));
  },
  "in place by nothing": (folder) => folder.overwrite(""),
  "by rename": async (folder, content) => folder.replace(await otherFile(folder, content)),
  "by rename, by a longer one": async (folder, content) => {
    await folder.replace(`${await otherFile(folder, content)}${content.split(/(?<=\n)/)[0]}`);
  },
};

for (const [how, replace] of Object.entries(replacements)) {
  test(`KeyStore reports once a file replaced ${how}, keeps the known keys and refuses changes`, async (context) => {
    const folder = new KeyFolder(context);
    const { store, keys, ids } = await followed(folder);
    await store.follow();
    await replace(folder, await folder.content());
    const replaced = await folder.content();
    for (let look = 0; look < 3; look += 1) {
      await store.follow();
    }
    assert.equal(folder.reports.length, 1, folder.reports.join("\n"));
    assert.match(folder.reports[0] ?? "", replacedMessage);
    assert.deepEqual(keys.map((key) => ask(store, key)), ids);
    assert.deepEqual(store.keyring.list().map((key) => key.id), ids);
    for (const change of [store.create(), store.revoke(ids[1] ?? ""), store.rotate(ids[2] ?? "")]) {
      await assert.rejects(change, { code: "key_file_damaged", message: /^Cannot change keys: .* was replaced/ });
    }
    assert.equal(await folder.content(), replaced);
    assert.deepEqual(store.keyring.list().map((key) => key.revokedMs), [undefined, undefined, undefined]);
  });
}

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
  await store.follow();
  assert.match(folder.reports.join("\n"), replacedMessage);
});

test("KeyStore.follow() reads on if the same content is put back, whatever its inode", async (context) => {
  const folder = new KeyFolder(context);
  const { store, keys, ids } = await followed(folder);
  const content = await folder.content();
  await folder.overwrite("");
  await store.follow();
  await folder.replace(content);
  await store.follow();
  assert.match(folder.reports.join("\n"), /was replaced[^\n]*\n[^\n]*keys\.jsonl can be read again$/);
  await store.revoke(ids[0] ?? "");
  assert.deepEqual(keys.map((key) => ask(store, key)), ["invalid", ids[1], ids[2]]);
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
        return file.read(target, position);
      }),
    });
    await folder.append(encodeKeyEvent({ event: "unbanned", timeMs: folder.clock.wallMs(), id: ids[0] ?? "" }));
    isWatched = true;
    await store.follow();
    isWatched = false;
    await store.follow();
    assert.equal(store.keyring.get(ids[1] ?? "")?.revokedMs, undefined, `replaced at read ${replacedAt}`);
    assert.match(folder.reports.join("\n"), replacedMessage, `replaced at read ${replacedAt}`);
  }
});

test("KeyStore.follow() reports once that the file was removed, and keys go on working", async (context) => {
  const folder = new KeyFolder(context);
  const { store, keys, ids } = await followed(folder);
  await rename(folder.file, `${folder.file}.away`);
  for (let look = 0; look < 3; look += 1) {
    await store.follow();
  }
  await assert.rejects(store.create(), { code: "key_file_damaged", message: /was removed/ });
  assert.deepEqual(keys.map((key) => ask(store, key)), ids);
  await rename(`${folder.file}.away`, folder.file);
  await store.follow();
  const reported = folder.reports.map((report) => /was removed|can be read again/.exec(report)?.[0]);
  assert.deepEqual(reported, ["was removed", "can be read again"]);
});

test("KeyStore.follow() leaves the event loop free while it reads many new keys", async (context) => {
  const folder = new KeyFolder(context);
  let countReads = (_target: Uint8Array): unknown => undefined;
  const store = await folder.open({
    disk: diskThatReads((file, target, position) => {
      countReads(target);
      return file.read(target, position);
    }),
  });
  await store.create();
  const randomBytes = seededBytes(3);
  const timeMs = folder.clock.wallMs();
  const lines = Array.from({ length: 5_000 }, () => {
    const sha256 = Buffer.from(randomBytes(32)).toString("hex");
    const made = { plan: createPlan("free"), label: undefined, expiresMs: undefined };
    return encodeKeyEvent({ event: "made", timeMs, id: createKeyId(randomBytes), sha256, ...made });
  });
  await folder.append(lines.join(""));
  let turnCount = 0;
  let isReading = true;
  const turn = (): void => {
    turnCount += 1;
    if (isReading) {
      setImmediate(turn);
    }
  };
  setImmediate(turn);
  let readBytesMax = 0;
  countReads = (target) => (readBytesMax = Math.max(readBytesMax, target.length));
  await store.follow();
  isReading = false;
  assert.equal(store.keyring.list().length, 5_001);
  assert.ok(turnCount >= 15, `${turnCount} turns`);
  assert.ok(readBytesMax <= 65_536, `${readBytesMax} bytes decoded at once`);
});

test("KeyStore.follow() follows a file that is created after the start", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  await store.follow();
  const { id, key } = await (await folder.openElsewhere()).create();
  await store.follow();
  assert.equal(ask(store, key), id);
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

test("KeyStore.follow() applies each line once, also after an error between two of them", async (context) => {
  const folder = new KeyFolder(context);
  const other = await folder.openElsewhere();
  await other.create();
  let readsLeft = Infinity;
  const store = await folder.open({
    disk: diskThatReads((file, target, position) => {
      readsLeft -= 1;
      return readsLeft < 0 ? Promise.reject(new Error("EIO")) : file.read(target, position);
    }),
  });
  const made = await other.create();
  readsLeft = 1;
  await store.follow();
  readsLeft = Infinity;
  await store.follow();
  assert.equal(ask(store, made.key), made.id);
  assert.match(folder.reports.join("\n"), /^.*cannot be read: EIO.*\n.*can be read again$/);
});

test("KeyStore.follow() never reads the file twice at a time, also during changes", async (context) => {
  const folder = new KeyFolder(context);
  let open = 0;
  let openMost = 0;
  const disk: Disk = {
    ...nodeDisk,
    openToRead: async (path) => {
      openMost = Math.max(openMost, (open += 1));
      await turnOfTheEventLoop();
      open -= 1;
      return nodeDisk.openToRead(path);
    },
  };
  const store = await folder.open({ disk });
  const changes = Promise.all([store.create(), store.create(), store.list()]);
  let isDone = false;
  void changes.then(() => (isDone = true));
  while (!isDone) {
    await Promise.all([store.follow(), store.follow()]);
  }
  await changes;
  assert.equal(openMost, 1);
});

test("KeyStore.follow() does not apply a line that a failing write takes back", async (context) => {
  const folder = new KeyFolder(context);
  await (await folder.openElsewhere()).create();
  let failSync: (() => void) | undefined;
  const store = await folder.open({
    disk: {
      ...nodeDisk,
      openToAppend: async (path) => {
        const file = await nodeDisk.openToAppend(path);
        let syncCount = 0;
        const sync = async (): Promise<void> => {
          syncCount += 1;
          if (syncCount === 1) {
            await new Promise<void>((resolve) => (failSync = resolve));
            throw new Error("EIO: i/o error, fdatasync");
          }
          await file.sync();
        };
        return { ...methodsOf(file), sync };
      },
    },
  });
  const creating = store.create();
  while (failSync === undefined) {
    await turnOfTheEventLoop();
  }
  const following = store.follow();
  for (let turn = 0; turn < 100; turn += 1) {
    await turnOfTheEventLoop();
  }
  assert.equal(store.keyring.list().length, 1);
  failSync();
  await assert.rejects(creating, /EIO/);
  await following;
  await store.follow();
  assert.deepEqual(folder.reports, []);
  assert.equal((await store.list()).length, 1);
  await (await folder.openElsewhere()).create();
  assert.equal((await store.list()).length, 2);
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
