/**
 * The animals in memory, as the exact text that clients get.
 *
 * They are in blocks of 4,096: one Buffer with the texts, each followed by a comma, and the offset of each. So a page
 * without a filter is one piece between brackets, or two if it crosses into the next block. A list of ids for each
 * status does the same for filtered pages. Nothing is scanned: a page costs the same with ten million animals.
 *
 * A page is put together in a buffer that all pages share, and leaves it as a string: a Buffer for each would cost the
 * collector more than everything else here.
 */

import { type Chunk, createChunk } from "../log/chunks.ts";
import type { PetPage } from "../pets/pet-store.ts";
import { petLineBytesMax } from "./pet-line.ts";

/** The upper bits of an index are a block, and the lower 12 a place in it. */
const blockBits = 12;
const blockLength = 1 << blockBits;
const placeMask = blockLength - 1;
const closingBraceAndComma = 0x7d2c;
const closingBracket = 0x5d;
const openingBracket = 0x5b;

interface Block {
  /** Texts with their commas. Grows. */
  texts: Chunk;
  /** Where each text begins, and where the next one will. */
  readonly offsets: Uint32Array;
  count: number;
}

export class Catalogue {
  readonly #blocks: Block[] = [];
  readonly #byStatus: readonly IdList[];
  #page: Chunk = createChunk(0);
  /** Ids are 1 to `count`. Changed here only. */
  count = 0;

  constructor(statusCount: number) {
    this.#byStatus = Array.from({ length: statusCount }, () => new IdList());
  }

  /** Adds the next animal: `[start, end)` of `bytes` is its text without the closing brace: 16 bytes or more. */
  append(bytes: DataView, start: number, end: number, statusIndex: number): void {
    const block = this.#blockWithRoom(end - start + 2);
    const at = block.offsets[block.count] ?? 0;
    const textEnd = at + end - start;
    const { view } = block.texts;
    copyText(bytes, start, end, view, at);
    view.setUint16(textEnd, closingBraceAndComma);
    block.count++;
    block.offsets[block.count] = textEnd + 2;
    this.count++;
    this.#byStatus[statusIndex]?.push(this.count);
  }

  /** The animal's text. Returns undefined if no animal has the id. */
  get(id: number): string | undefined {
    const block = this.#blocks[(id - 1) >>> blockBits];
    if (block === undefined || id > this.count) {
      return undefined;
    }
    const place = (id - 1) & placeMask;
    return block.texts.bytes.toString("utf8", block.offsets[place] ?? 0, (block.offsets[place + 1] ?? 0) - 1);
  }

  /** @param statusIndex undefined for animals of every status */
  page(after: number, limit: number, statusIndex: number | undefined): PetPage {
    const list = statusIndex === undefined ? undefined : this.#byStatus[statusIndex];
    const first = list === undefined ? Math.min(after, this.count) : list.firstAfter(after);
    const matchCount = (list?.length ?? this.count) - first;
    const count = Math.min(limit, matchCount);
    if (count === 0) {
      return { json: "[]", nextAfter: undefined };
    }
    const lastId = list === undefined ? first + count : list.at(first + count - 1);
    return { json: this.#assemble(first, count, list), nextAfter: matchCount > count ? lastId : undefined };
  }

  /** Without a list, animals follow each other: those of a block are one piece. */
  #assemble(first: number, count: number, list: IdList | undefined): string {
    if (this.#page.bytes.length < count * petLineBytesMax) {
      this.#page = createChunk(count * petLineBytesMax); // What no page fills takes no memory.
    }
    const { bytes, view } = this.#page;
    let at = 1;
    const end = first + count;
    for (let index = first, pieceLength = 1; index < end; index += pieceLength) {
      const id = list === undefined ? index + 1 : list.at(index);
      const { texts, offsets } = this.#blocks[(id - 1) >>> blockBits]!; // Every id up to `count` has one.
      const place = (id - 1) & placeMask;
      const start = offsets[place] ?? 0;
      if (list === undefined) {
        pieceLength = Math.min(blockLength - place, end - index);
        at += texts.bytes.copy(bytes, at, start, offsets[place + pieceLength]);
      } else {
        const textEnd = offsets[place + 1] ?? 0;
        copyText(texts.view, start, textEnd, view, at);
        at += textEnd - start;
      }
    }
    bytes[0] = openingBracket;
    bytes[at - 1] = closingBracket; // In the place of the last comma.
    return bytes.toString("utf8", 0, at);
  }

  #blockWithRoom(byteCount: number): Block {
    let block = this.#blocks[this.#blocks.length - 1];
    if (block === undefined || block.count === blockLength) {
      // Most likely as long as the previous block, and so never copied to grow. What is not written takes no memory.
      const expectedBytes = block === undefined ? 65_536 : Math.ceil((block.offsets[blockLength] ?? 0) * 1.05);
      block = { texts: createChunk(expectedBytes), offsets: new Uint32Array(blockLength + 1), count: 0 };
      this.#blocks.push(block);
    }
    const { bytes } = block.texts;
    const used = block.offsets[block.count] ?? 0;
    if (used + byteCount > bytes.length) {
      block.texts = createChunk(Math.max(bytes.length * 2, used + byteCount));
      bytes.copy(block.texts.bytes);
    }
    return block;
  }
}

/** Sixteen bytes at a time, the last sixteen again: half the time of `Buffer.copy` for so few bytes. */
function copyText(from: DataView, start: number, end: number, to: DataView, at: number): void {
  const last = end - 16;
  for (let place = start; place < last; place += 16) {
    copySixteen(from, place, to, at + place - start);
  }
  copySixteen(from, last, to, at + last - start);
}

function copySixteen(from: DataView, start: number, to: DataView, at: number): void {
  to.setInt32(at, from.getInt32(start));
  to.setInt32(at + 4, from.getInt32(start + 4));
  to.setInt32(at + 8, from.getInt32(start + 8));
  to.setInt32(at + 12, from.getInt32(start + 12));
}

/** A growing list of ascending ids, in blocks, so that growing copies nothing. */
export class IdList {
  readonly #blocks: Uint32Array[] = [];
  /** Changed here only. */
  length = 0;

  /** Appends an id greater than all before it. */
  push(id: number): void {
    const place = this.length & placeMask;
    if (place === 0) {
      this.#blocks.push(new Uint32Array(blockLength));
    }
    this.#blocks[this.#blocks.length - 1]![place] = id; // There is one for the place.
    this.length++;
  }

  /** The id at `index`, which must be below `length`. */
  at(index: number): number {
    return this.#blocks[index >>> blockBits]?.[index & placeMask] ?? 0;
  }

  /** The index of the first id greater than `id`; `length` if there is none. */
  firstAfter(id: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at(middle) > id) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
}
