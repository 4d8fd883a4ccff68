/**
 * Where in a file the line of each number begins. Equal lines count as one. It takes 12 bytes for a line, and a little
 * for each block of numbers.
 */

import { textOf } from "../base/checksum.ts";
import type { IntactLine } from "./intact-lines.ts";

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
