/**
 * The reader of logs, with lines of a test's own: `{"n":1,"crc":"…"}` is one of a group, `{"group":1,"crc":"…"}` begins
 * one, and `{"wrong":…}` has a right checksum and is wrong. A line without its checksum is damage.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { checksumBytes, endOfChecksummedLine, hasChecksum, lineWithChecksum } from "../../src/log/checksum.ts";
import { type LineFault, type LineReader, lineBytesMax, type LogEnd, readLog, type ReadLogOptions } from "../../src/log/reader.ts";
import { memoryFile } from "../support/memory-file.ts";
import { seeded } from "../support/seeded-random.ts";

/** As in the reader: what it reads at a time. */
const chunkBytes = 4_194_304;

/** Takes sound lines, and knows where each began. */
class TestLines implements LineReader {
  readonly taken: string[] = [];

  take(bytes: DataView, start: number, end: number): LineFault | undefined {
    if (!hasChecksum(bytes, start, end)) {
      return { kind: "damage", reason: "no checksum" };
    }
    const line = textOf(bytes, start, end);
    if (line.startsWith('{"wrong"')) {
      return { kind: "wrong", reason: "cannot be" };
    }
    this.taken.push(line);
    return undefined;
  }

  provesEarlierLines(bytes: DataView, start: number, end: number): boolean {
    return textOf(bytes, start, Math.min(start + 8, end)) === '{"group"' && endOfChecksummedLine(bytes, start, end) > 0;
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

/** A sound line of so many bytes, its newline not counted. */
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

test("readLog() takes every line of a sound log in order", async () => {
  const lines = Array.from({ length: 1_000 }, (_, index) => line(index));
  const { end, taken } = await read(lines.join(""));
  assert.deepEqual(end, { kind: "whole", lengthBytes: lines.join("").length, lineCount: 1_000 });
  assert.deepEqual(taken, lines.map((text) => text.slice(0, -1)));
  assert.deepEqual((await read("")).end, { kind: "whole", lengthBytes: 0, lineCount: 0 });
});

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

test("readLog() takes a line of lineBytesMax bytes, and one byte more is damage", async () => {
  for (const [byteCount, isTaken] of [[lineBytesMax - 1, true], [lineBytesMax, true], [lineBytesMax + 1, false]] as const) {
    for (const newline of ["\n", ""]) {
      const text = lineOf(byteCount).slice(0, -1) + newline;
      const { end, taken } = await read(line(1) + text);
      assert.equal(end.kind, isTaken && newline !== "" ? "whole" : "torn", `${byteCount}`);
      const isTooLong = end.kind === "torn" && /more than 65536 bytes/.test(end.reason);
      assert.equal(isTooLong, !isTaken, `${byteCount}`);
      assert.equal(taken.length, isTaken && newline !== "" ? 2 : 1);
    }
  }
});

const damages: Readonly<Record<string, Buffer>> = {
  "a byte in front of a line": Buffer.from("x"),
  "a blank line": Buffer.from("\n"),
  "NUL bytes": Buffer.from("\0\0\0\0\n"),
  "NUL bytes without a newline": Buffer.alloc(5_000),
  "bytes that are no UTF-8": Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0x0a]),
  "a sealed line that has lost its newline": Buffer.from(line(5).slice(0, -1)),
  "the second half of a line": Buffer.from(line(5).slice(9)),
  "a flipped bit": Buffer.from(line(5).replace('{"n', '{"o')),
  "a carriage return": Buffer.from(line(5).replace("\n", "\r\n")),
  "more bytes than a line has": Buffer.alloc(lineBytesMax + 1, "x"),
};

for (const [name, damage] of Object.entries(damages)) {
  test(`${name}: torn at the end of the log, corrupt before a line that begins a group`, async () => {
    const sound = groupLine(1) + line(2);
    const place = { lineCount: 2, lengthBytes: sound.length };
    const torn = (await read(Buffer.concat([Buffer.from(sound), damage]))).end;
    assert.deepEqual({ ...torn, reason: "" }, { kind: "torn", ...place, tornBytes: damage.length, reason: "" });
    const within = (await read(Buffer.concat([Buffer.from(sound), damage, Buffer.from(line(3) + line(4))]))).end;
    assert.equal(within.kind, "torn", "sound lines of the same group prove nothing");
    const corrupt = (await read(Buffer.concat([Buffer.from(sound), damage, Buffer.from(groupLine(3))]))).end;
    assert.deepEqual({ ...corrupt, reason: "" }, { kind: "corrupt", lineNumber: 3, offset: sound.length, reason: "" });
    const proofAt = sound.length + damage.length;
    assert.ok(corrupt.kind === "corrupt" && corrupt.reason.includes(`a sound line at byte ${proofAt} shows`), torn.kind);
  });
}

test("readLog() finds a log corrupt if a line with a right checksum is wrong, also the last one", async () => {
  const wrong = lineWithChecksum('{"wrong":1}');
  for (const after of ["", line(2), groupLine(2), "torn"]) {
    const { end } = await read(line(1) + wrong + after);
    assert.deepEqual(end, { kind: "corrupt", lineNumber: 2, offset: line(1).length, reason: "cannot be" });
  }
  assert.equal((await read(`${line(1)}damage\n${wrong}`)).end.kind, "torn", "after damage it is not read");
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
      const reason = new RegExp(`a sound line at byte ${damage.length + gap.length} shows`);
      assert.ok(end.kind === "corrupt" && reason.test(end.reason), `${border} ${place}: ${JSON.stringify(end)}`);
    }
  }
});

test("readLog() finds a line of lineBytesMax bytes that proves earlier ones, also at the end of the file", async () => {
  const proof = lineOf(lineBytesMax, "group").slice(0, -1);
  for (const start of [chunkBytes - lineBytesMax - 1, chunkBytes - lineBytesMax, chunkBytes - lineBytesMax + 1, chunkBytes - 7_000, chunkBytes - 7]) {
    for (const after of ["", "\n", "z".repeat(100)]) {
      const { end } = await read(`${"z".repeat(start)}${proof}${after}`);
      assert.ok(end.kind === "corrupt" && end.reason.includes(`byte ${start} shows`), `${start}: ${JSON.stringify(end)}`);
    }
  }
});

test("readLog() neither reads nor searches what follows `to`", async () => {
  const first = line(1) + line(2);
  const content = `${first}damage\n${groupLine(3)}`;
  assert.deepEqual((await read(content, { to: first.length })).end, { kind: "whole", lengthBytes: first.length, lineCount: 2 });
  for (let to = first.length + 1; to < content.length - 1; to++) {
    const { end } = await read(content, { to });
    const isDamaged = to >= first.length + "damage\n".length;
    const reason = isDamaged ? "no checksum" : "the last line has no newline";
    assert.deepEqual(end, { kind: "torn", lengthBytes: first.length, lineCount: 2, tornBytes: to - first.length, reason });
  }
  assert.equal((await read(content, { to: content.length - 1 })).end.kind, "corrupt", "it proves earlier lines without its newline");
  assert.deepEqual((await read(content, { to: 0 })).end, { kind: "whole", lengthBytes: 0, lineCount: 0 });
});

test("readLog() gives the same results with short reads", seeded(async (random) => {
  const sound = groupLine(1) + Array.from({ length: 300 }, (_, index) => line(index)).join("") + lineOf(lineBytesMax);
  for (const content of [sound, `${sound}torn`, `${sound}damage\n${line(1)}`, `${sound}damage\n${groupLine(2)}${line(3)}`]) {
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

test("readLog() reads a growing file up to its present end", async () => {
  const file = memoryFile(Buffer.from(line(1)));
  file.readMax = (position) => {
    if (position > 0 && file.content.length < 200) {
      file.content = Buffer.concat([file.content, Buffer.from(line(2))]);
    }
    return Infinity;
  };
  const reader = new TestLines();
  const end = await readLog(file, reader, { tornBytesMax: Infinity });
  assert.deepEqual(end, { kind: "whole", lengthBytes: file.content.length, lineCount: reader.taken.length });
  assert.ok(reader.taken.length > 2);
});

test("readLog() reads a shrinking file up to its present end", async () => {
  const lines = line(1) + line(2) + line(3);
  for (const size of [0, 1, line(1).length, line(1).length + 5]) {
    const file = memoryFile(Buffer.from(lines));
    file.readMax = (position) => {
      file.content = file.content.subarray(0, position === 0 ? lines.length : size);
      return position === 0 ? line(1).length + 5 : Infinity;
    };
    const reader = new TestLines();
    const { kind } = await readLog(file, reader, { tornBytesMax: Infinity });
    assert.deepEqual([kind, reader.taken.length], ["torn", 1], `to ${size} bytes`);
  }
});

test("readLog() reports a damaged end of tornBytesMax bytes as torn, and a longer one as corrupt", async () => {
  const sound = groupLine(1) + line(2);
  for (const end of [line(3).replace("n", "m") + line(4), "x".repeat(lineBytesMax + 5), "\0".repeat(500)]) {
    for (const [tornBytesMax, kind] of [[end.length - 1, "corrupt"], [end.length, "torn"], [end.length + 1, "torn"]] as const) {
      const found = (await read(sound + end, { tornBytesMax })).end;
      assert.equal(found.kind, kind, `${tornBytesMax}`);
      if (found.kind === "corrupt") {
        assert.deepEqual([found.lineNumber, found.offset], [3, sound.length]);
        assert.match(found.reason, new RegExp(`the damaged end has ${end.length} bytes, and a crash damages ${tornBytesMax} at most$`));
      }
    }
  }
});

test("readLog() stops at the next chunk with the reason of its signal, and no read is left under way", async () => {
  for (const content of [filler(3 * chunkBytes), `damage\n${"z".repeat(3 * chunkBytes)}`]) {
    const stopping = new AbortController();
    const reason = new Error("SIGTERM");
    const file = memoryFile(Buffer.from(content));
    let readsUnderWay = 0;
    let readCount = 0;
    const slow = {
      ...file,
      read: async (target: Uint8Array, position: number) => {
        readsUnderWay++;
        readCount++;
        await new Promise((resolve) => setImmediate(resolve));
        readsUnderWay--;
        if (position > 0) {
          stopping.abort(reason);
        }
        return file.read(target, position);
      },
    };
    const reading = readLog(slow, new TestLines(), { tornBytesMax: Infinity, signal: stopping.signal });
    await assert.rejects(reading, reason);
    assert.equal(readsUnderWay, 0);
    assert.ok(readCount <= 3, `${readCount} reads`);
  }
});
