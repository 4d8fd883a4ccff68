/**
 * The writer on a simulated disk, with items that are lines. Whatever its owner or another process does, each add
 * settles.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Appender } from "../../src/log/appender.ts";
import { type GroupOwner, GroupWriter } from "../../src/log/group-writer.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { mockTimers } from "../support/mock-timers.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { SimulatedDisk } from "../support/simulated-disk.ts";

const path = "/log/log.jsonl";

interface Setting {
  readonly disk: SimulatedDisk;
  readonly writer: GroupWriter<string, string>;
  readonly reports: string[];
  readonly published: string[];
  readonly appender: Appender;
  readonly clock: ManualClock;
}

/** An owner of lines, each of which is its own result. */
interface TestOwner {
  readonly encode: (items: readonly string[], bytes: Buffer) => { readonly byteCount: number; readonly results: readonly string[] };
  readonly publish: () => void;
}

async function setUp(owner: Partial<TestOwner> = {}): Promise<Setting> {
  const disk = new SimulatedDisk(new SeededRandom(1));
  disk.place(path, Buffer.alloc(0));
  const clock = new ManualClock();
  const reports: string[] = [];
  const published: string[] = [];
  const file = await disk.boot().openToAppend(path);
  const encodeAll: TestOwner["encode"] = (items, bytes) => ({ byteCount: bytes.write(items.join("")), results: items });
  const wholeOwner: GroupOwner<string, string> = {
    encode: (waiting, { bytes }) => {
      const { byteCount, results } = (owner.encode ?? encodeAll)(waiting, bytes);
      return { byteCount, results, publish: owner.publish ?? (() => void published.push(...results)) };
    },
    errorOf: ({ kind, reason }) => new Error(`${kind}: ${reason}`),
  };
  const report = (message: string): void => void reports.push(message);
  const appender = new Appender({ file, path, lengthBytes: 0, report, clock });
  const writer = new GroupWriter(wholeOwner, appender, () => undefined);
  return { disk, writer, reports, published, appender, clock };
}

test("on a disk that is full again and again, a failure or its end is reported once in ten seconds at most", async () => {
  const { writer, disk, reports, appender, clock } = await setUp();
  disk.plan = (_, name) => (name === "append" ? "error" : "none");
  await assert.rejects(writer.add("a\n"), /^Error: absent: /);
  await assert.rejects(writer.add("b\n"), /^Error: absent: /);
  assert.equal(appender.isFailing, true);
  disk.plan = () => "none";
  await writer.add("c\n");
  assert.equal(appender.isFailing, false);
  clock.advance(9_999);
  await writer.add("d\n");
  assert.equal(reports.length, 1, reports.join("; "));
  clock.advance(1);
  await writer.add("e\n");
  disk.plan = (_, name) => (name === "append" ? "error" : "none");
  await assert.rejects(writer.add("f\n"), /^Error: absent: /);
  assert.equal(reports.length, 2, reports.join("; "));
  assert.match(reports[0] ?? "", /^\/log\/log\.jsonl cannot be written: EIO.*; nothing can be added until writing works again$/);
  assert.equal(reports[1], "/log/log.jsonl can be written again");
});

test("the last report of a disk that was full for a moment is true within ten seconds, although nobody writes", async (context) => {
  const timers = mockTimers(context, "setTimeout");
  const { writer, disk, reports, clock } = await setUp();
  disk.plan = (_, name) => (name === "append" ? "error" : "none");
  await assert.rejects(writer.add("a\n"), /^Error: absent: /);
  clock.advance(4_000);
  disk.plan = () => "none";
  await writer.add("b\n");
  clock.advance(5_999);
  timers.tick(5_999);
  assert.equal(reports.length, 1, reports.join("; "));
  clock.advance(1);
  timers.tick(1);
  assert.deepEqual(reports.slice(1), ["/log/log.jsonl can be written again"]);
});

test("GroupWriter.add() says that the outcome is unknown if another process appends behind half a group", async () => {
  const { writer, disk } = await setUp();
  disk.plan = (_, name) => {
    if (name === "look" && disk.seen(path).length > 0) {
      disk.append(path, "y".repeat(200));
    }
    return name === "append" ? "short" : "none";
  };
  await assert.rejects(writer.add("x".repeat(100)), /^Error: unknown: /);
  assert.equal(writer.isWritable, false);
  assert.match(disk.seen(path).toString(), /^x+y+$/, "all bytes stay");
});

test("GroupWriter.add() keeps what another process appends after half a group was cut off", async () => {
  const { writer, disk } = await setUp();
  disk.plan = (_, name) => (name === "append" ? "short" : "none");
  await assert.rejects(writer.add("x".repeat(100)), /^Error: absent: /);
  disk.plan = () => "none";
  disk.append(path, "of another process\n");
  await assert.rejects(writer.add("b\n"), /^Error: absent: .*another process modified or replaced it/);
  assert.equal(disk.seen(path).toString(), "of another process\n");
});
