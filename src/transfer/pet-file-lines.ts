/**
 * The lines of a whole new pets.jsonl, each a group of its own: the file gets its name only once it is synced, so none
 * of them can be torn.
 */

import { createChunk } from "../log/chunks.ts";
import { gapIdMax } from "../store/catalogue.ts";
import {
  createPetLine, encodeGap, encodePetLine, type LineContent, petLineBytesMax, removedIndex,
} from "../store/pet-line.ts";

const bufferBytes = 1_048_576;

export class PetFileLines {
  readonly #chunk = createChunk(bufferBytes);
  readonly #line = createPetLine();
  #end = 0;
  /** Changed here only, as is `lastId`. */
  animalCount = 0;
  lastId = 0;

  /** Whether `take` must be called before more is added. */
  get isFull(): boolean {
    return this.#end + 2 * petLineBytesMax > bufferBytes;
  }

  /** @param atSeconds Unix seconds; only used on a correction, and on a line with an idempotency hash */
  add(content: LineContent, atSeconds: number): void {
    if (content.kind === "create") {
      this.skipTo(content.id - 1);
      this.lastId = content.id;
      this.animalCount += 1;
    } else if (content.statusIndex === removedIndex) {
      this.animalCount -= 1;
    }
    const line = this.#line;
    line.number += 1;
    line.group = line.number;
    line.atSeconds = atSeconds;
    this.#end = encodePetLine(this.#chunk, this.#end, content, line);
  }

  /** Writes a gap, if the ids up to `id` are not all given. @throws {Error} a start would refuse it */
  skipTo(id: number): void {
    if (id > this.lastId) {
      if (id > gapIdMax) {
        throw new Error(`the ids up to ${id} do not fit into a data folder: a gap ends at ${gapIdMax} at most`);
      }
      const line = this.#line;
      line.number += 1;
      line.id = id;
      line.after = this.lastId;
      this.#end = encodeGap(this.#chunk, this.#end, line);
      this.lastId = id;
    }
  }

  /** The bytes added since the last call. They are overwritten by what is added next. */
  take(): Uint8Array {
    const piece = this.#chunk.bytes.subarray(0, this.#end);
    this.#end = 0;
    return piece;
  }
}
