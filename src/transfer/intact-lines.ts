/**
 * Finds the intact lines of a damaged pets.jsonl. A line counts as intact wherever it stands, if its checksum is right.
 */

import { endOfChecksummedLine } from "../base/checksum.ts";
import { type ReadableFile, readFully } from "../disk/file-bytes.ts";
import { chunkBytesMax, createChunk } from "../log/chunks.ts";
import { createPetLine, type PetLine, petLineBytesMax, readPetLine } from "../store/pet-line.ts";

/** One object is used for all lines of an iteration. */
export interface IntactLine {
  readonly view: DataView;
  /** The text is `[start, end)` of `view`, without the newline. */
  readonly start: number;
  readonly end: number;
  /** Where the line begins in the file. */
  readonly offset: number;
  readonly line: PetLine;
}

const objectStart = Buffer.from('{"', "latin1");
/** Lines of keys.jsonl and limits.json have such checksums, too. A disk may have written them here. */
const otherStarts = ['{"event":', '{"version":'].map((text) => Buffer.from(text, "latin1"));

/** As they stand in the file. @throws {Error} a newer release wrote a line */
export async function* intactLines(file: ReadableFile): AsyncGenerator<IntactLine> {
  const line = createPetLine();
  const { bytes, view } = createChunk(Math.max(1, Math.min(chunkBytesMax, file.size() + 1)));
  for (let position = 0, isLast = false; !isLast; ) {
    const count = await readFully(file, bytes, position);
    isLast = count < bytes.length;
    // A line that begins further on may be cut by the end of the chunk. The next chunk has it whole.
    const startsEnd = isLast ? count : count - petLineBytesMax;
    const seen = bytes.subarray(0, count);
    let start = seen.indexOf(objectStart);
    while (start >= 0 && start < startsEnd) {
      const end = endOfChecksummedLine(view, start, Math.min(count, start + petLineBytesMax));
      if (end >= 0) {
        const fault = readPetLine(view, start, end, line);
        if (fault === undefined) {
          yield { view, start, end, offset: position + start, line };
        } else if (!otherStarts.some((other) => other.equals(seen.subarray(start, start + other.length)))) {
          throw new Error(`byte ${position + start}: ${fault.reason}`);
        }
      }
      start = seen.indexOf(objectStart, Math.max(end, start + 1));
    }
    // If nothing more begins in the chunk, `start` is -1.
    position += Math.max(start, startsEnd);
  }
}
