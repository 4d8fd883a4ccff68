/**
 * Output on a descriptor that takes all, some or nothing of what is written to it.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { exitDone, finishOutput, Output } from "../../src/cli/terminal.ts";
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
