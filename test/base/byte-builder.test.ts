import assert from "node:assert/strict";
import { test } from "node:test";

import { ByteBuilder } from "../../src/base/byte-builder.ts";

test("ByteBuilder joins a million pieces of one byte in a moment: the bytes are not copied once more with each piece", () => {
  const joined = new ByteBuilder();
  const begunMs = performance.now();
  for (let index = 0; index < 1_000_000 && performance.now() - begunMs < 5_000; index++) {
    joined.append(Uint8Array.of(index & 255));
  }
  assert.equal(joined.length, 1_000_000);
  assert.ok(joined.bytes.every((byte, index) => byte === (index & 255)));
});

test("ByteBuilder joins pieces of any length, and leaves them as they are", () => {
  for (const lengths of [[], [0], [3], [0, 5], [5, 0, 1], [1, 100, 2], [100, 1, 1]]) {
    const pieces = lengths.map((length, index) => new Uint8Array(length).fill(index + 1));
    const before = pieces.map((piece) => piece.slice());
    const joined = new ByteBuilder();
    pieces.forEach((piece) => joined.append(piece));
    assert.deepEqual(Buffer.from(joined.bytes), Buffer.concat(before), `lengths ${lengths.join()}`);
    assert.deepEqual(pieces, before);
  }
});
