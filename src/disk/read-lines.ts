/** A text file, line by line. What a line means is not decided here. */

import type { DiskFile } from "./disk.ts";

const chunkBytes = 1_048_576;

/**
 * Yields each line without its newline. The last line may have none. A line longer than `lineBytesMax` is cut to one
 * byte more than that: memory stays bounded, and the caller sees that it is too long.
 */
export async function* readLines(file: Pick<DiskFile, "read">, lineBytesMax: number): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  let rest = Buffer.alloc(0);
  for (let position = 0, byteCount = 0; (byteCount = await file.read(chunk, position)) > 0; position += byteCount) {
    let start = 0;
    for (let end = 0; (end = chunk.subarray(0, byteCount).indexOf("\n", start)) !== -1; start = end + 1) {
      yield Buffer.concat([rest, chunk.subarray(start, end)]).subarray(0, lineBytesMax + 1);
      rest = Buffer.alloc(0);
    }
    rest = Buffer.concat([rest, chunk.subarray(start, byteCount)]).subarray(0, lineBytesMax + 1);
  }
  if (rest.length > 0) {
    yield rest;
  }
}
