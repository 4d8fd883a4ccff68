/**
 * Output on a descriptor that takes all, some or nothing of what is written to it.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Output, type WriteLater } from "../../src/cli/output.ts";

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
