/**
 * Lines of any text file, against `split`.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { readLines } from "../../src/disk/file-bytes.ts";
import { memoryFile } from "../support/memory-file.ts";
import { seeded } from "../support/seeded-random.ts";

/** As in the reader: what it reads at a time. */
const chunkBytes = 1_048_576;
const lineBytesMax = 1_000;

async function linesOf(text: string, readMax = (): number => Infinity): Promise<string[]> {
  const file = memoryFile(Buffer.from(text));
  file.readMax = readMax;
  const lines: string[] = [];
  for await (const line of readLines(file, lineBytesMax)) {
    lines.push(Buffer.from(line).toString());
  }
  return lines;
}

test("every line comes without its newline, also a blank one, and a last one without a newline", async () => {
  for (const [text, lines] of [
    ["", []],
    ["\n", [""]],
    ["a", ["a"]],
    ["a\n", ["a"]],
    ["a\n\nb", ["a", "", "b"]],
    ["\n\n", ["", ""]],
    ["a\r\nü\n", ["a\r", "ü"]],
  ] as const) {
    assert.deepEqual(await linesOf(text), lines, JSON.stringify(text));
  }
});

test("a line longer than the bound is cut to one byte more than the bound", async () => {
  for (const byteCount of [lineBytesMax - 1, lineBytesMax, lineBytesMax + 1, lineBytesMax + 2, 3 * chunkBytes]) {
    for (const end of ["", "\n", "\nnext"]) {
      const [line = "", ...more] = await linesOf(`${"x".repeat(byteCount)}${end}`);
      assert.equal(line.length, Math.min(byteCount, lineBytesMax + 1));
      assert.deepEqual(more, end === "\nnext" ? ["next"] : []);
    }
  }
});

test("short reads change nothing", seeded(async (random) => {
  const text = random.times(200, () => "ü".repeat(random.integer(0, 30))).join("\n");
  assert.deepEqual(await linesOf(text, () => random.integer(1, 9)), text.replace(/\n$/, "").split("\n"));
}));
