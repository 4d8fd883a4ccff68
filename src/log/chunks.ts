/** Reads a file in large chunks, whatever its content: the next one while the caller parses the last. */

import { viewOf } from "../base/checksum.ts";
import type { ReadableFile } from "../disk/file-bytes.ts";

/** Long enough for the disk to stream. Between two chunks the event loop has a turn, every few milliseconds. */
export const chunkBytesMax = 4_194_304;

/** A buffer, and a view of the same bytes. Lines are read and written through the view. */
export interface Chunk {
  readonly bytes: Buffer;
  readonly view: DataView;
}

export function createChunk(byteCount: number): Chunk {
  const bytes = Buffer.allocUnsafeSlow(byteCount);
  return { bytes, view: viewOf(bytes) };
}

/**
 * Reads a file with two buffers: while one is parsed, the other is filled. Each has space before `start` for the
 * beginning of a line that the previous chunk cut, so that every line is in one piece.
 */
export class Chunks {
  /** Where chunks begin in their buffers. */
  readonly start: number;
  readonly #file: ReadableFile;
  current: Chunk;
  #next: Chunk;
  #position = 0;
  #pending: Promise<number>;
  #lastCount = 0;

  /** @param restBytesMax the most bytes of a chunk that can be copied before the next one */
  constructor(file: ReadableFile, restBytesMax: number) {
    this.start = restBytesMax;
    this.#file = file;
    const chunkBytes = Math.min(Math.max(file.size(), 1), chunkBytesMax);
    this.current = createChunk(this.start + chunkBytes);
    this.#next = createChunk(this.start + chunkBytes);
    this.#pending = this.#read();
  }

  /** Makes the next chunk current, after the last `restBytes` of this one. Resolves to its length, 0 at the end. */
  async next(restBytes: number): Promise<number> {
    const count = await this.#pending;
    const chunkEnd = this.start + this.#lastCount;
    this.current.bytes.copy(this.#next.bytes, this.start - restBytes, chunkEnd - restBytes, chunkEnd);
    [this.current, this.#next] = [this.#next, this.current];
    this.#position += count;
    this.#lastCount = count;
    if (count > 0) {
      this.#pending = this.#read();
    }
    return count;
  }

  /** Resolves when no read is under way. */
  async settle(): Promise<void> {
    await this.#pending;
  }

  #read(): Promise<number> {
    return this.#file.read(this.#next.bytes.subarray(this.start), this.#position);
  }
}
