/**
 * The reader of logs where two of its chunks meet, and on short reads: the rest is in test/fault/damage.test.ts. Lines are
 * a test's own: `{"n":1,"crc":"…"}` is one of a group, and `{"group":1,"crc":"…"}` begins one.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { checksumBytes, hasChecksum, lineWithChecksum } from "../../src/base/checksum.ts";
import type { LineFault } from "../../src/base/checksum.ts";
import { lineBytesMax, type LineReader, type LogEnd, readLog, type ReadLogOptions } from "../../src/log/reader.ts";
import { memoryFile } from "../support/memory-file.ts";
import { seeded } from "../support/seeded-random.ts";

/** As in the reader: what it reads at a time. */
const chunkBytes = 4_194_304;

/** Takes intact lines, and knows where each began. */
class TestLines implements LineReader {
  readonly lineBytesMax = lineBytesMax;
  readonly taken: string[] = [];

  take(bytes: DataView, start: number, end: number): LineFault | undefined {
    if (!hasChecksum(bytes, start, end)) {
      return { kind: "damage", reason: "no checksum" };
    }
    this.taken.push(textOf(bytes, start, end));
    return undefined;
  }

  provesEarlierLines(bytes: DataView, start: number): boolean {
    return textOf(bytes, start, start + 8) === '{"group"';
  }
}

function textOf(bytes: DataView, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("latin1");
}

function line(number: number): string {
  return lineWithChecksum(`{"n":${number}}`);
}

function groupLine(number: number): string {
  return lineWithChecksum(`{"group":${number}}`);
}

/** An intact line of so many bytes, its newline not counted. */
function lineOf(byteCount: number, name = "n"): string {
  const frame = `{"${name}":""}`;
  const text = lineWithChecksum(`{"${name}":"${"x".repeat(byteCount - frame.length - checksumBytes + 2)}"}`);
  assert.equal(text.length, byteCount + 1);
  return text;
}

interface Read {
  readonly end: LogEnd;
  readonly taken: readonly string[];
}

async function read(content: string | Buffer, options: Partial<ReadLogOptions> = {}): Promise<Read> {
  const reader = new TestLines();
  const end = await readLog(memoryFile(Buffer.from(content)), reader, { tornBytesMax: Infinity, ...options });
  return { end, taken: reader.taken };
}

/** Sound lines that fill exactly so many bytes. */
function filler(byteCount: number): string {
  const lineBytes = 30_000;
  const count = Math.floor(byteCount / (lineBytes + 1)) - 1;
  return lineOf(lineBytes).repeat(count) + lineOf(byteCount - count * (lineBytes + 1) - 1);
}

test("readLog() takes a line in one piece wherever two chunks meet in it", async () => {
  for (const byteCount of [40, 100, lineBytesMax - 1, lineBytesMax]) {
    // How many of its bytes, with the newline, stand before the border.
    const places = [0, 1, 2, 30, byteCount - 8, byteCount - 1, byteCount, byteCount + 1].filter((place) => place >= 0);
    for (const place of places) {
      const before = filler(chunkBytes - place);
      const crossing = lineOf(byteCount, "c");
      const content = before + crossing + line(7);
      const { end, taken } = await read(content);
      const name = `${place} bytes of ${byteCount}`;
      assert.deepEqual(end, { kind: "whole", lengthBytes: content.length, lineCount: taken.length }, name);
      assert.deepEqual(taken.slice(-2), [crossing.slice(0, -1), line(7).slice(0, -1)], name);
    }
  }
});

test("readLog() gives line number and offset of a fault in a line where two chunks meet", async () => {
  for (const place of [1, 20, 39, 40, 41]) {
    const before = filler(chunkBytes - place);
    const lineNumber = before.split("\n").length;
    const damaged = lineOf(40, "c").replace("x", "y");
    const corrupt = await read(before + damaged + groupLine(1));
    assert.equal(corrupt.end.kind, "corrupt");
    assert.deepEqual({ ...corrupt.end, reason: "" }, { kind: "corrupt", lineNumber, offset: before.length, reason: "" });
    const torn = await read(before + damaged + line(1));
    const tornBytes = damaged.length + line(1).length;
    const expected = { kind: "torn", lengthBytes: before.length, lineCount: lineNumber - 1, tornBytes, reason: "no checksum" };
    assert.deepEqual(torn.end, expected);
  }
});

test("readLog() finds a line that proves earlier ones wherever two search windows meet", async () => {
  const damage = "damage\n";
  const searchStart = 1;
  // Beginnings near which a window ends, or the next one begins.
  for (const border of [lineBytesMax, chunkBytes - lineBytesMax, chunkBytes]) {
    for (const place of [-29, -28, -27, -26, -14, -2, -1, 0, 1, 2]) {
      const gap = Buffer.alloc(searchStart + border + place - damage.length, "z");
      const content = Buffer.concat([Buffer.from(damage), gap, Buffer.from(groupLine(9)), Buffer.alloc(chunkBytes, "z")]);
      const { end } = await read(content);
      const reason = new RegExp(`an intact line at byte ${damage.length + gap.length} shows`);
      assert.ok(end.kind === "corrupt" && reason.test(end.reason), `${border} ${place}: ${JSON.stringify(end)}`);
    }
  }
});

test("readLog() gives the same results with short reads", seeded(async (random) => {
  const intact = groupLine(1) + Array.from({ length: 300 }, (_, index) => line(index)).join("") + lineOf(lineBytesMax);
  for (const content of [intact, `${intact}torn`, `${intact}damage\n${line(1)}`, `${intact}damage\n${groupLine(2)}${line(3)}`]) {
    const expected = await read(content);
    for (const readMax of [7, 1_000, 40_000]) {
      const file = memoryFile(Buffer.from(content));
      file.readMax = () => random.integer(1, readMax);
      const reader = new TestLines();
      assert.deepEqual(await readLog(file, reader, { tornBytesMax: Infinity }), expected.end);
      assert.deepEqual(reader.taken, expected.taken);
    }
  }
}));
