/**
 * Output on a descriptor that takes all, some or nothing of what is written to it.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { finishOutput } from "../../src/cli/ending.ts";
import { Output, type WriteLater } from "../../src/cli/output.ts";
import { exitDone } from "../../src/cli/terminal.ts";
import { recordingTerminal } from "../support/terminal.ts";

/** A descriptor with room for so many bytes; without room its writes fail with the code. */
class Descriptor {
  room = Infinity;
  code = "ENOSPC";
  text = "";

  readonly write = (bytes: Uint8Array): number => {
    const count = Math.min(this.room, bytes.length);
    if (count === 0) {
      throw Object.assign(new Error(this.code), { code: this.code });
    }
    this.room -= count;
    this.text += Buffer.from(bytes.subarray(0, count)).toString();
    return count;
  };
}

test("Output.write() drops lines while the disk is full, and writes again when there is room", async () => {
  const descriptor = new Descriptor();
  const output = new Output(descriptor.write, 100);
  descriptor.room = 3;
  assert.equal(output.write("first\n"), false);
  assert.equal(output.write("second\n"), false);
  descriptor.room = Infinity;
  assert.equal(output.write("third\n"), true);
  assert.equal(output.write("fourth\n"), true);
  assert.equal(descriptor.text, "fir\nthird\nfourth\n", "a cut line does not run into the next one");
  assert.equal((await output.finish(0))?.message, "ENOSPC");
});

test("Output.write() to a disk that hangs has one write under way, a bounded rest waits for it, and an end writes that at once", async () => {
  const descriptor = new Descriptor();
  const pending: (() => void)[] = [];
  const later: WriteLater = (bytes, done) => void pending.push(() => done(null, descriptor.write(bytes)));
  const output = new Output(descriptor.write, 20, later);
  for (const [lines, isKept] of [["first\n", true], ["second\n", true], ["third\n", true], ["too long\n", false]] as const) {
    assert.equal(output.write(lines), isKept, lines);
  }
  assert.deepEqual([pending.length, descriptor.text], [1, ""]);
  pending.shift()?.();
  assert.deepEqual([pending.length, descriptor.text], [1, "first\n"]);
  output.write("last\n");
  output.writeNow(); // The second and third line are under way.
  assert.equal(descriptor.text, "first\nlast\n");
  assert.equal((await output.finish(0))?.message, "its reader has stalled");
});

test("Output.write() to a file takes a short write and an error as one to a pipe does", async () => {
  const descriptor = new Descriptor();
  const later: WriteLater = (bytes, done) => {
    try {
      done(null, descriptor.write(bytes));
    } catch (error) {
      done(error as Error, 0); // The descriptor throws errors.
    }
  };
  const output = new Output(descriptor.write, 100, later);
  descriptor.room = 3;
  output.write("first\n");
  descriptor.room = Infinity;
  output.write("second\n");
  assert.equal(descriptor.text, "fir\nsecond\n");
  assert.equal((await output.finish(0))?.message, "ENOSPC");
});

test("finishOutput() writes what waits for a slow reader of standard error", async () => {
  const descriptor = new Descriptor();
  const stderr = new Output(descriptor.write, 100);
  Object.assign(descriptor, { room: 0, code: "EAGAIN" });
  stderr.write("stopped\n");
  descriptor.room = Infinity;
  const finishers = { finishStdout: async () => undefined, finishStderr: (graceMs: number) => stderr.finish(graceMs), closeGone: () => undefined };
  assert.equal(await finishOutput({ ...recordingTerminal(), ...finishers }, exitDone, true), exitDone);
  assert.equal(descriptor.text, "stopped\n");
});
