import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { TestContext } from "node:test";

import { lineWithChecksum } from "../../src/base/checksum.ts";
import type { Disk } from "../../src/disk/disk.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import {
  decodeSnapshot, type LimitsFile, type LimitsFileOptions, openLimitsFile, snapshotPieces,
} from "../../src/folder/limits-file.ts";
import { MemoryLimiter } from "../../src/limits/memory-limiter.ts";
import { createPlan } from "../../src/limits/plans.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { mockTimers } from "../support/mock-timers.ts";
import { runningService } from "../support/running-service.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { exchange, request } from "../support/wire.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

const free = createPlan("free");

/** A data folder, and processes that follow each other on it. */
class Folder {
  clock: ManualClock = new ManualClock();
  limiter: MemoryLimiter = new MemoryLimiter({ clock: this.clock });
  readonly reports: string[] = [];
  readonly path: string;
  #disk: Disk = nodeDisk;

  constructor(context: TestContext) {
    this.path = temporaryFolder(context);
  }

  get file(): string {
    return join(this.path, "limits.json");
  }

  /** The next process, on a monotonic clock of its own. `downMs` is how long it took by the wall clock. */
  start(downMs = 0, options: Partial<LimitsFileOptions> = {}): Promise<LimitsFile> {
    this.clock = new ManualClock({ wallMs: this.clock.wallMs() + downMs, monotonicMs: 5_000_000 });
    this.limiter = new MemoryLimiter({ clock: this.clock });
    const { path: dataDir, limiter } = this;
    // The disk may be exchanged while the process runs.
    const disk: Disk = {
      ...nodeDisk,
      remove: (path) => this.#disk.remove(path),
      rename: (from, to) => this.#disk.rename(from, to),
    };
    const report = (message: string): void => void this.reports.push(message);
    const lock = { isInPlace: async () => true };
    return openLimitsFile({ disk, dataDir, lock, limiter, report, ...options });
  }

  /** A save begins with a remove and ends with a rename. */
  exchange(parts: Partial<Pick<Disk, "remove" | "rename">>): void {
    this.#disk = { ...nodeDisk, ...parts };
  }

  /** Several requests of the key; how the last was decided. */
  take(count = 1, plan = free): string {
    const decisions = Array.from({ length: count }, () => this.limiter.take("key", plan));
    const last = decisions.at(-1);
    return last === undefined ? "" : `${last.kind} ${last.remaining} ${last.kind === "allowed" ? 0 : last.retryAfterSeconds}`;
  }

  ban(): void {
    this.take(60);
    for (let index = 0; index < 10; index++) {
      this.take();
      this.clock.advance(second);
    }
  }
}

test("LimitsFile keeps used tokens and their reset times across a restart", async (context) => {
  const folder = new Folder(context);
  const snapshot = await folder.start();
  const { resetSeconds } = folder.limiter.take("key", free);
  folder.take(58);
  folder.clock.advance(1_234);
  await snapshot.save();
  await folder.start(3_456);
  const last = folder.limiter.take("key", free);
  assert.deepEqual([last.remaining, last.resetSeconds], [0, resetSeconds]);
  assert.equal(folder.take(), "rate_limited 0 56");
});

test("LimitsFile restores no window or ban that ends later than its length from now", async (context) => {
  const folder = new Folder(context);
  const savedMs = folder.clock.wallMs();
  const farMs = savedMs + year;
  const used = { used: 60, endsMs: farMs };
  const streak = { refusalCount: 3, secondEndsMs: farMs };
  const ban = { untilMs: farMs, durationMs: 5 * minute };
  for (const [name, key, waitSeconds] of [
    ["minute", { minute: used }, 60],
    ["day", { day: { ...used, used: 1_000 } }, 86_400],
    ["ban", { ban }, 300],
    ["streak", { streak, minute: used }, 60],
  ] as const) {
    const keys = [{ id: "key", ...key }];
    await writeFile(folder.file, lineWithChecksum(JSON.stringify({ version: 1, savedMs, keyLogBytes: 0, keys })));
    await folder.start();
    assert.match(folder.take(), new RegExp(` 0 ${waitSeconds}$`), name);
  }
  folder.clock.advance(second);
  folder.take(); // the streak's fourth: a second after the third, not a year
  assert.equal(folder.limiter.keys.get("key")?.ban.refusalCount, 4);
});

test("LimitsFile starts with a damaged file that cannot be moved, as one that is mounted by itself, and says so", async (context) => {
  const folder = new Folder(context);
  await writeFile(folder.file, "");
  folder.exchange({ rename: () => Promise.reject(new Error("EBUSY: resource busy or locked")) });
  await folder.start();
  assert.match(folder.reports.join("\n"), /^\S+limits\.json is damaged and cannot be moved: EBUSY.*; all limits start unused$/);
  assert.equal(folder.take(), "allowed 59 0");
});

test("LimitsFile.save() reports a failure once, and when it works again, and tries each time", async (context) => {
  const folder = new Folder(context);
  const snapshot = await folder.start();
  for (const round of [1, 2]) {
    folder.exchange({ rename: () => Promise.reject(new Error("EIO: i/o error")) });
    folder.take();
    await snapshot.save();
    await snapshot.save();
    assert.equal(folder.reports.length, 2 * round - 1);
    assert.match(folder.reports.at(-1) ?? "", /^the limits cannot be saved.*EIO/);
    folder.exchange({});
    await snapshot.save();
    assert.equal(folder.reports.at(-1), "the limits can be saved again");
    const saved = decodeSnapshot(await readFile(folder.file));
    assert.ok(typeof saved !== "string");
    assert.equal(saved.keys[0]?.minute?.used, round);
  }
});

test("LimitsFile.save() never overlaps, and a waiting call saves what has changed meanwhile", async (context) => {
  const folder = new Folder(context);
  const snapshot = await folder.start();
  const ends: (() => void)[] = [];
  let beginCount = 0;
  const remove: Disk["remove"] = (path) => {
    beginCount++;
    return nodeDisk.remove(path);
  };
  const rename: Disk["rename"] = async (from, to) => {
    await new Promise<void>((resolve) => ends.push(resolve));
    await nodeDisk.rename(from, to);
  };
  folder.exchange({ remove, rename });
  folder.take();
  const first = snapshot.save();
  await until("it saves", () => ends.length === 1);
  folder.take();
  const waiting = [snapshot.save(), snapshot.save(), snapshot.save()];
  await new Promise(setImmediate);
  assert.equal(beginCount, 1);
  folder.take();
  ends[0]?.();
  await first;
  await until("it saves again", () => ends.length === 2);
  ends[1]?.();
  await Promise.all(waiting);
  assert.equal(beginCount, 2);
  await folder.start();
  assert.equal(folder.limiter.peek("key", free).remaining, 57);
});

test("a service saves the limits within 5 s", async (context) => {
  const timers = mockTimers(context, "setInterval");
  const dataDir = temporaryFolder(context);
  const { port, key } = await runningService(context, { options: { dataDir } });
  assert.equal((await exchange(port, request({ key }))).status, 200);
  timers.tick(5_000);
  await until("the limits are saved", () => existsSync(join(dataDir, "limits.json")));
});

test("a service leaves the limits of another folder in the place of its own as they are, and says so", async (context) => {
  const dataDir = join(temporaryFolder(context), "data");
  const { service, port, key, reports } = await runningService(context, { options: { dataDir } });
  assert.equal((await exchange(port, request({ key }))).status, 200);
  await rename(dataDir, `${dataDir}.old`);
  await mkdir(dataDir);
  await writeFile(join(dataDir, "limits.json"), "of another server");
  await service.close();
  assert.equal(await readFile(join(dataDir, "limits.json"), "utf8"), "of another server");
  assert.match(reports.join("\n"), /^the limits cannot be saved, .*: .*data leads to another folder or to none, or its lock was removed$/m);
});

test("decodeSnapshot() reports any cut and any flipped bit as damage", () => {
  const limiter = new MemoryLimiter({ clock: new ManualClock() });
  limiter.take("key", free);
  const intact = Buffer.from([...snapshotPieces(limiter)].join(""));
  assert.ok(typeof decodeSnapshot(intact) !== "string");
  for (let size = 0; size < intact.length; size++) {
    assert.equal(decodeSnapshot(intact.subarray(0, size)), "is damaged", `cut at ${size}`);
  }
  for (let bit = 0; bit < intact.length * 8; bit++) {
    const flipped = Buffer.from(intact);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert.equal(decodeSnapshot(flipped), "is damaged", `bit ${bit}`);
  }
});

test("snapshotPieces() saves each key once, also if requests are decided between two pieces", () => {
  const limiter = new MemoryLimiter({ clock: new ManualClock() });
  for (let index = 0; index < 1_200; index++) {
    limiter.take(`key ${index}`, free);
  }
  let text = "";
  for (const piece of snapshotPieces(limiter)) {
    text += piece;
    limiter.take("key 0", free);
    limiter.take(`later key ${text.length}`, free);
  }
  const saved = decodeSnapshot(Buffer.from(text));
  assert.ok(typeof saved !== "string");
  assert.equal(new Set(saved.keys.map(({ id }) => id)).size, saved.keys.length);
  assert.equal(saved.keys.filter(({ id }) => id.startsWith("key")).length, 1_200);
});

test("LimitsFile keeps the time of a key's last request for a day, and knows none from an older release's file", async (context) => {
  const folder = new Folder(context);
  const lastRequestMs = (): number => folder.limiter.clockMapping.toWallMs(folder.limiter.keys.get("key")?.lastMs ?? -Infinity);
  let snapshot = await folder.start();
  folder.take();
  folder.clock.advance(day - 1);
  const lastMs = folder.clock.wallMs();
  folder.take();
  folder.clock.advance(day - 1);
  await snapshot.save();
  snapshot = await folder.start();
  assert.equal(lastRequestMs(), lastMs);
  folder.clock.advance(2);
  folder.limiter.take("other", free);
  await snapshot.save();
  assert.equal(lastRequestMs(), -Infinity);
  const savedMs = folder.clock.wallMs();
  const keys = [{ id: "key", day: { used: 1, endsMs: savedMs + 1 } }];
  await writeFile(folder.file, lineWithChecksum(JSON.stringify({ version: 1, savedMs, keys })));
  await folder.start();
  assert.deepEqual([folder.limiter.keys.size, lastRequestMs()], [1, -Infinity]);
});

test("LimitsFile sets a damaged file aside with a warning, and starts", async (context) => {
  const folder = new Folder(context);
  const snapshot = await folder.start();
  folder.take(3);
  await snapshot.save();
  const intact = await readFile(folder.file);
  await writeFile(folder.file, intact.subarray(0, 50));
  const restarted = await folder.start();
  assert.deepEqual(folder.reports, [
    `${folder.file} is damaged and was moved to ${folder.file}.damaged; all limits start unused`,
  ]);
  assert.deepEqual(await readFile(`${folder.file}.damaged`), intact.subarray(0, 50));
  assert.equal(folder.take(), "allowed 59 0");
  await restarted.save();
  await folder.start();
  assert.equal(folder.take(), "allowed 58 0");
});

test("LimitsFile sets a file of another release aside with a warning", async (context) => {
  const folder = new Folder(context);
  for (const content of [{ version: 2, savedMs: 1, keys: [] }, { hello: "there" }]) {
    const line = lineWithChecksum(JSON.stringify(content));
    assert.equal(decodeSnapshot(Buffer.from(line)), "was written by another release");
    await writeFile(folder.file, line);
    folder.reports.length = 0;
    await folder.start();
    assert.match(folder.reports.join("\n"), /^.*limits\.json was written by another release and was moved to /);
    assert.equal(folder.take(), "allowed 59 0");
  }
});
