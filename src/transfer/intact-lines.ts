/**
 * Finds the intact lines of a damaged pets.jsonl, and reads them in the order of their numbers. A line is intact if its
 * checksum is right, wherever it stands in the file, and its number is believed. Equal lines count as one.
 */

import { endOfChecksummedLine, textOf } from "../base/checksum.ts";
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

/** The intact lines from `from` on, as they stand in the file. @throws {Error} a newer release wrote a line */
export async function* intactLines(file: ReadableFile, from = 0): AsyncGenerator<IntactLine> {
  const line = createPetLine();
  const { bytes, view } = createChunk(Math.max(1, Math.min(chunkBytesMax, file.size() - from + 1)));
  for (let position = from, isLast = false; !isLast; ) {
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
    position += Math.max(start, startsEnd);
  }
}

/** A few lines at a time: in a file whose lines are shuffled each read is for one line. */
const windowBytes = 16_384;

/** The lines at these offsets, each of which is intact. */
export async function* linesAt(file: ReadableFile, offsets: Iterable<number>): AsyncGenerator<IntactLine> {
  const line = createPetLine();
  const { bytes, view } = createChunk(windowBytes);
  let [windowStart, windowEnd] = [0, 0];
  for (const offset of offsets) {
    const isInWindow = offset >= windowStart && Math.min(offset + petLineBytesMax, file.size()) <= windowEnd;
    if (!isInWindow) {
      windowStart = offset;
      windowEnd = offset + (await readFully(file, bytes, offset));
    }
    const start = offset - windowStart;
    const end = endOfChecksummedLine(view, start, Math.min(windowEnd - windowStart, start + petLineBytesMax));
    readPetLine(view, start, end, line);
    yield { view, start, end, offset, line };
  }
}

/** The digits of the checksum end the line, but for a quote and a brace. */
function checksumOf({ view, end }: IntactLine): number {
  return parseInt(textOf(view, end - 10, end - 2), 16);
}

/** How many numbers of lines share a block. */
const blockLength = 256;

interface Block {
  /** One more than where each line begins; 0 if no line has the number. */
  readonly places: Float64Array;
  readonly checksums: Uint32Array;
}

/** Where the line of each number begins. It takes 12 bytes for a line, and a little for each block of numbers. */
export class LinePlaces {
  readonly #blocks = new Map<number, Block>();

  /** Returns where a different line with the same number begins, if there is one. */
  add(found: IntactLine): number | undefined {
    const { number } = found.line;
    const blockNumber = Math.floor(number / blockLength);
    let block = this.#blocks.get(blockNumber);
    if (block === undefined) {
      block = { places: new Float64Array(blockLength), checksums: new Uint32Array(blockLength) };
      this.#blocks.set(blockNumber, block);
    }
    const index = number % blockLength;
    const checksum = checksumOf(found);
    const place = block.places[index]!; // The index is within the block.
    if (place > 0) {
      return block.checksums[index] === checksum ? undefined : place - 1;
    }
    block.places[index] = found.offset + 1;
    block.checksums[index] = checksum;
    return undefined;
  }

  has(number: number): boolean {
    const block = this.#blocks.get(Math.floor(number / blockLength));
    return block !== undefined && block.places[number % blockLength]! > 0; // The index is within the block.
  }

  /** Where the lines begin, in the order of their numbers. */
  *inOrder(): Generator<number> {
    for (const [, { places }] of [...this.#blocks].sort(([one], [other]) => one - other)) {
      for (const place of places) {
        if (place > 0) {
          yield place - 1;
        }
      }
    }
  }
}
