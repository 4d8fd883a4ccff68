/**
 * keys.jsonl as whoever holds the folder has it open, and what becomes of it if it is damaged, or if others write, shorten
 * or replace it all the same.
 */

import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { test } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import { KeyFile } from "../../src/folder/key-file.ts";
import { encodeKeyEvent } from "../../src/keys/key-line.ts";
import { ask, KeyFolder, keysOver, type OpenKeys } from "../support/key-folder.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { seededBytes } from "../support/random-bytes.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";

/** One bit of the line's middle is flipped. */
function damaged(line: string): string {
  const at = line.length >> 1;
  return `${line.slice(0, at)}${String.fromCharCode(line.charCodeAt(at) ^ 1)}${line.slice(at + 1)}`;
}

interface Opened {
  readonly file: KeyFile;
  readonly store: OpenKeys;
  readonly keys: readonly string[];
  readonly ids: readonly string[];
  readonly lines: readonly string[];
}

/** A store of three keys; their secrets, their ids, and the file's lines. */
async function withThreeKeys(folder: KeyFolder): Promise<Opened> {
  const file = await folder.openFile();
  const store = keysOver(file, folder);
  const made = [await store.create(), await store.create(), await store.create()];
  const lines = await folder.lines();
  return { file, store, keys: made.map(({ key }) => key), ids: made.map(({ id }) => id), lines };
}

test("KeyFile.open() rejects damage before an intact line, and names its line and byte", async (context) => {
  const folder = new KeyFolder(context);
  const { lines } = await withThreeKeys(folder);
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

test("KeyFile.open() stops at an event that a newer release wrote, says so, and leaves the file as it was", async (context) => {
  const folder = new KeyFolder(context);
  const { ids, lines } = await withThreeKeys(folder);
  const paused = lineWithChecksum(`{"event":"paused","time":"2026-11-21T12:00:00.007Z","id":"${ids[0]}"}`);
  for (const [content, line] of [[[lines[0], paused, lines[1]], 2], [[...lines, paused], 4]] as const) {
    await folder.overwrite(content.join(""));
    const message = new RegExp(`at line ${line}, byte \\d+: it is not an event .*; a newer release may have written it$`);
    await assert.rejects(folder.open(), { code: "key_file_damaged", message });
    assert.equal(await folder.content(), content.join(""));
  }
});

test("KeyFile.open() rejects a change of a key whose creation was lost", async (context) => {
  const folder = new KeyFolder(context);
  const { store, ids } = await withThreeKeys(folder);
  await store.revoke(ids[0] ?? "");
  await folder.overwrite((await folder.lines()).slice(1).join(""));
  await assert.rejects(folder.open(), /line 3, .*the key key_\w+ was never made/);
});

const changes: Readonly<Record<string, (folder: KeyFolder, lines: readonly string[]) => Promise<void>>> = {
  "replaced by another one of the same length": (folder, lines) => folder.replace([...lines].reverse().join("")),
  "replaced by nothing": (folder) => folder.overwrite(""),
  "shortened by a line": (folder, lines) => folder.overwrite(lines.slice(0, 2).join("")),
  removed: (folder) => rename(folder.file, `${folder.file}.away`),
  "written by another program": (folder) => folder.append("{}\n"),
};

for (const [how, change] of Object.entries(changes)) {
  test(`a key file that was ${how} is told once; known keys go on working, and none is changed, until a restart`, async (context) => {
    const folder = new KeyFolder(context);
    const { file, store, keys, ids, lines } = await withThreeKeys(folder);
    await file.check();
    assert.deepEqual(folder.reports, []);
    await change(folder, lines);
    const content = await folder.content().catch(() => undefined);
    await file.check();
    await file.check();
    const told = /^\S+keys\.jsonl .*another process .*; the keys known go on working, and none can be changed, until a restart$/;
    assert.match(folder.reports.join("\n"), told);
    for (const refused of [store.create(), store.revoke(ids[1] ?? ""), store.rotate(ids[2] ?? "")]) {
      await assert.rejects(refused, /^Error: Cannot change keys: \S+keys\.jsonl .*another process .*, so the change was not stored$/);
    }
    assert.deepEqual(keys.map((key) => ask(store, key)), ids);
    assert.equal(await folder.content().catch(() => undefined), content);
    assert.equal(folder.reports.length, 1);
    await folder.replace(lines.slice(0, 2).join(""));
    const restarted = await folder.open();
    assert.deepEqual(keys.map((key) => ask(restarted, key)), [ids[0], ids[1], "invalid"]);
  });
}

test("a key file that another process made meanwhile is left as it is, and no key is made", async (context) => {
  const folder = new KeyFolder(context);
  const store = await folder.open();
  await folder.overwrite("{}\n");
  await assert.rejects(store.create(), /another process .*, so the change was not stored$/);
  assert.equal(await folder.content(), "{}\n");
});

test("a torn last line has no effect, and is put aside when the file is opened, which is reported", async (context) => {
  const folder = new KeyFolder(context);
  const { keys, ids, lines } = await withThreeKeys(folder);
  const revoked = encodeKeyEvent({ event: "revoked", timeMs: folder.clock.wallMs(), id: ids[0] ?? "" });
  await folder.overwrite(`${lines.join("")}${revoked.slice(0, -1)}`);
  const store = await folder.open();
  const told = /^the last \d+ bytes of \S+keys\.jsonl, from line 4 on, .*; it was moved to \S+\.torn, and the last change of a key has no effect$/;
  assert.match(folder.reports.join("\n"), told);
  assert.equal(await folder.content(), lines.join(""));
  assert.deepEqual(keys.map((key) => ask(store, key)), ids);
  await store.revoke(ids[1] ?? "");
  const restarted = await folder.open();
  assert.deepEqual(keys.map((key) => ask(restarted, key)), [ids[0], "invalid", ids[2]]);
});

test("Keys.create() leaves no empty file if its first append fails, and one of another process alone", async () => {
  for (const [call, effect] of [["append", /was not stored$/], ["sync", /may have been stored/], ["syncFolder", /was not stored$/]] as const) {
    const disk = new SimulatedDisk(new SeededRandom(1));
    const options = { disk: disk.boot(), clock: new ManualClock(), dataDir: "/keys", randomBytes: seededBytes(1) };
    const reports: string[] = [];
    const store = keysOver(await KeyFile.open({ ...options, report: (message) => reports.push(message) }), options);
    disk.plan = (_, name) => (name !== call ? "none" : name === "append" ? "short" : "error");
    await assert.rejects(store.create(), effect);
    assert.deepEqual(disk.names(), [], call);
    let syncCount = 0;
    disk.plan = (_, name) => {
      if (name === "sync" && ++syncCount === 1) {
        disk.place("/keys/keys.jsonl", Buffer.from("restored\n"));
      }
      return "none";
    };
    await assert.rejects(store.create(), /another process modified or replaced it, so the change may have been stored/);
    assert.equal(disk.seen("/keys/keys.jsonl").toString(), "restored\n");
  }
});

test("a change of a key whose sync fails may have been stored, and no other is made until a restart", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const options = { disk: disk.boot(), clock: new ManualClock(), dataDir: "/keys", randomBytes: seededBytes(1) };
  const reports: string[] = [];
  const store = keysOver(await KeyFile.open({ ...options, report: (message) => reports.push(message) }), options);
  const { id, key } = await store.create();
  disk.plan = (_, name) => (name === "sync" ? "error" : "none");
  await assert.rejects(store.revoke(id), /a sync of \S+keys\.jsonl failed .*, so the change may have been stored: list the keys$/);
  disk.plan = () => "none";
  await assert.rejects(store.create(), /, so the change was not stored$/);
  assert.equal(ask(store, key), id);
  assert.equal(reports.length, 1);
});

test("a key file whose torn end a full disk cannot take is not opened, and stays as it was until there is room", async () => {
  const disk = new SimulatedDisk(new SeededRandom(1));
  const options = { disk: disk.boot(), clock: new ManualClock(), dataDir: "/keys", randomBytes: seededBytes(1) };
  const path = "/keys/keys.jsonl";
  const { id } = await keysOver(await KeyFile.open({ ...options, report: assert.fail }), options).create();
  const line = disk.seen(path);
  const content = Buffer.concat([line, Buffer.from('{"event":"revo')]);
  disk.place(path, content);
  disk.plan = () => "short";
  const refusal = /^Error: the last 14 bytes of \/keys\/keys\.jsonl, .* cannot be moved to \/keys\/keys\.jsonl\.torn \(only .*\); nothing is lost: /;
  await assert.rejects(KeyFile.open({ ...options, report: assert.fail }), refusal);
  assert.deepEqual([disk.names(), disk.seen(path)], [[path], content]);
  disk.plan = () => "none";
  const file = await KeyFile.open({ ...options, report: () => undefined });
  assert.ok(file.keyring.get(id) !== undefined);
  assert.deepEqual([disk.kept(path), disk.kept(`${path}.torn`).length], [line, 14]);
});
