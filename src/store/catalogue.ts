/**
 * Holds the animals in memory, each as the exact text that clients get, up to the status: that is the last member, and
 * the one that changes most.
 *
 * They are in blocks of `blockLength`: one Buffer with the texts, and for each animal a word with the offset of its
 * text and its status. What follows the text depends on the status only. A set of ids for each status, and the ids of
 * each category, find the animals of filtered pages. So nothing is scanned: a page costs the same with ten million
 * animals, and a change of a status writes a word and two bits. A correction moves the texts behind it in its block. An
 * id without an animal, because it is in a gap or its animal was removed, has a word with a status of its own, and no
 * bit. The text of a removed animal stays, for requests that are repeated.
 *
 * A page is put together in a buffer that all pages share, and leaves it as a string: a Buffer for each would cost the
 * collector more than everything else here.
 */

import { viewOf } from "../base/checksum.ts";
import { type Chunk, createChunk } from "../log/chunks.ts";
import type { PetPage } from "../pets/pet-store.ts";
import { type Category, categoryIn, CategoryIndex } from "./category-index.ts";
import { FormerTexts } from "./former-texts.ts";
import { HierarchicalBitSet } from "./hierarchical-bit-set.ts";
import { petLineBytesMax } from "./pet-line.ts";
import { Versions } from "./versions.ts";

/** The upper bits of an index are a block, and the lower ones a place in it. */
const blockBits = 12;
const blockLength = 1 << blockBits;
const placeMask = blockLength - 1;
/** The upper bits of a word are the status, the lower ones an offset: enough for a block of the longest texts. */
const offsetBits = Math.ceil(Math.log2(blockLength * petLineBytesMax));
const offsetMask = 2 ** offsetBits - 1;
/** A page walks over so many ids without an animal: finding the next one by the sets would take as long. */
const skippedMax = 32;
const closingBracket = 0x5d;
const openingBracket = 0x5b;

/** The largest id of a gap. Ids in memory are below 2 ** 31, so as many are left for the animals after it. */
export const gapIdMax = 2 ** 30;

interface Block {
  /** Replaced by longer ones when they are full. */
  texts: Chunk;
  /** Where each text begins, with the status of its animal; and where the next one will begin. */
  readonly words: Uint32Array;
  /** How many ids it has. */
  count: number;
}

/** `[start, end)` of `bytes` is an animal's text up to its status, 16 bytes or more. */
interface Text {
  readonly bytes: DataView;
  readonly start: number;
  readonly end: number;
}

/** What follows a text: the status, the end of the object and, in a page, a comma. */
interface Ending {
  readonly text: string;
  readonly byteCount: number;
  /** The text, the comma, and spaces up to the length that `copyText` needs. */
  readonly padded: DataView;
}

export class Catalogue {
  readonly #blocks: Block[] = [];
  readonly #endings: readonly Ending[];
  readonly #byStatus: readonly HierarchicalBitSet[];
  readonly #counts: number[];
  #categories: CategoryIndex | undefined;
  readonly #versions = new Versions();
  readonly #formerTexts = new FormerTexts();
  #page: Chunk = createChunk(0);
  /** How many animals there are. Changed here only, as is `lastId`. */
  count = 0;
  lastId = 0;

  /** @param statuses ASCII; the index after the last one must fit into the upper bits of a word */
  constructor(statuses: readonly string[]) {
    this.#endings = statuses.map(endingOf);
    this.#byStatus = statuses.map(() => new HierarchicalBitSet());
    this.#counts = statuses.map(() => 0);
  }

  /** Called once, before the first page of a category is asked for: what only holds animals needs no index of them. */
  async indexCategories(): Promise<void> {
    const categories = new CategoryIndex(this.#endings.length, (id) => this.statusOf(id));
    await categories.addAll(this.count, (from) => this.next(from), (id) => this.#categoryOf(id));
    this.#categories = categories;
  }

  /** Adds the next animal: `[start, end)` of `bytes` is its text up to its status, 16 bytes or more. */
  append(bytes: DataView, start: number, end: number, statusIndex: number, version: number): void {
    const block = this.#blockWithRoom(end - start);
    copyText(bytes, start, end, block.texts.view, block.words[block.count]!); // A block has one word more than ids.
    this.#take(block, end - start, statusIndex);
    this.count++;
    this.#byStatus[statusIndex]!.add(this.lastId); // There is a set for every status.
    this.#counts[statusIndex]!++;
    this.#categories?.add(categoryIn(bytes, end), this.lastId, statusIndex);
    if (version > 1) {
      this.#versions.set(this.lastId, version);
    }
  }

  /** Leaves the ids up to `id` without an animal. All blocks without an animal are one object. */
  skipTo(id: number): void {
    const none = this.#endings.length;
    let empty: Block | undefined;
    while (this.lastId < id) {
      if (placeOf(this.lastId + 1) > 0 || id - this.lastId < blockLength) {
        this.#take(this.#blockWithRoom(0), 0, none);
      } else {
        empty ??= { texts: createChunk(0), words: wordsOf(none), count: blockLength };
        this.#blocks.push(empty);
        this.lastId += blockLength;
      }
    }
  }

  /** Gives the next id to the text that the block ends in. */
  #take(block: Block, byteCount: number, statusIndex: number): void {
    const at = block.words[block.count]!; // A block has one word more than ids.
    block.words[block.count] = wordOf(at, statusIndex);
    block.count++;
    block.words[block.count] = at + byteCount;
    this.lastId++;
  }

  countOf(statusIndex: number): number {
    return this.#counts[statusIndex] ?? 0;
  }

  /** The index of the animal's status. Returns undefined if no animal has the id. */
  statusOf(id: number): number | undefined {
    if (id < 1 || id > this.lastId) {
      return undefined;
    }
    const status = this.#blockOf(id).words[placeOf(id)]! >>> offsetBits;
    return status === this.#endings.length ? undefined : status;
  }

  /** @param id of an animal, or of one that was removed */
  versionOf(id: number): number {
    return this.#versions.of(id);
  }

  /**
   * @param id of an animal
   * @param statusIndex the number of statuses removes the animal for good
   */
  changeStatus(id: number, statusIndex: number, version: number): void {
    const { words } = this.#blockOf(id);
    const place = placeOf(id);
    const word = words[place]!; // Every animal has one, and there is a set for every status.
    const before = word >>> offsetBits;
    this.#versions.set(id, version);
    if (statusIndex === before) {
      return;
    }
    this.#byStatus[before]!.delete(id);
    this.#counts[before]!--;
    words[place] = wordOf(word & offsetMask, statusIndex);
    if (statusIndex === this.#endings.length) {
      this.count--;
      this.#categories?.delete(this.#categoryOf(id), id, before);
    } else {
      this.#byStatus[statusIndex]!.add(id);
      this.#counts[statusIndex]!++;
      this.#categories?.changeStatus(this.#categoryOf(id), id, before, statusIndex);
    }
  }

  /**
   * Gives an animal another text, as `append` takes it. The former one is kept for `textOf`.
   * @param nowSeconds on any clock, but always the same
   */
  correct(id: number, { bytes, start, end }: Text, statusIndex: number, version: number, nowSeconds: number): void {
    this.#formerTexts.add(id, { until: this.versionOf(id), text: this.#presentText(id) }, nowSeconds);
    this.changeStatus(id, statusIndex, version);
    const [from, to] = [this.#categoryOf(id), categoryIn(bytes, end)];
    if (from !== to) {
      this.#categories?.delete(from, id, statusIndex);
      this.#categories?.add(to, id, statusIndex);
    }
    const block = this.#blockOf(id);
    const { words, count } = block;
    const place = placeOf(id);
    const [at, nextAt] = [words[place]! & offsetMask, words[place + 1]! & offsetMask];
    const growth = end - start - (nextAt - at);
    if (growth !== 0) {
      makeRoom(block, growth);
      block.texts.bytes.copyWithin(nextAt + growth, nextAt, words[count]!); // The end of the last text has no status.
      for (let next = place + 1; next <= count; next++) {
        words[next]! += growth; // The status above the offset stays.
      }
    }
    copyText(bytes, start, end, block.texts.view, at);
  }

  #categoryOf(id: number): Category {
    const { texts, words } = this.#blockOf(id);
    return categoryIn(texts.view, words[placeOf(id) + 1]! & offsetMask);
  }

  /** The animal with the status that it has; undefined if no animal has the id. */
  get(id: number): string | undefined {
    const statusIndex = this.statusOf(id);
    return statusIndex === undefined ? undefined : this.#presentText(id) + this.#endings[statusIndex]!.text;
  }

  /**
   * The animal as it was in a version, with the status that it had then; it may have been removed since.
   * @param version one that an idempotency hash which counts is for, or the present one
   */
  getAsOf(id: number, statusIndex: number, version: number): string {
    return this.textOf(id, version) + this.#endings[statusIndex]!.text; // There is one for every status.
  }

  /** The text of an animal up to its status. The version is as for `getAsOf`. */
  textOf(id: number, version: number): string {
    const former = version === this.versionOf(id) ? undefined : this.#formerTexts.find(id, version);
    return former ?? this.#presentText(id);
  }

  #presentText(id: number): string {
    const { texts, words } = this.#blockOf(id);
    const place = placeOf(id);
    return texts.bytes.toString("utf8", words[place]! & offsetMask, words[place + 1]! & offsetMask);
  }

  /** @param statusIndex undefined for animals of every status, as is `category` for those of any */
  page(after: number, limit: number, statusIndex: number | undefined, category: Category | undefined): PetPage {
    const isFiltered = statusIndex !== undefined || category !== undefined;
    const next =
      category !== undefined
        ? (from: number) => this.#categories?.next(category, statusIndex, from)
        : (from: number) => (statusIndex === undefined ? this : this.#byStatus[statusIndex]!).next(from);
    const nextId = (last: number) => (last < this.lastId ? next(last + 1) : undefined);
    const bytesMax = Math.min(limit, this.count) * petLineBytesMax;
    if (this.#page.bytes.length < bytesMax) {
      this.#page = createChunk(bytesMax); // What no page fills takes no memory.
    }
    let nextAfter = 0;
    let id = nextId(after);
    let end = 1;
    for (let left = limit; left > 0 && id !== undefined; id = nextId(nextAfter)) {
      // Without a filter, most animals of a page follow each other.
      const written = this.#assemble(id, isFiltered ? 1 : left, end);
      left -= written.count;
      nextAfter = written.lastId;
      end = written.end;
    }
    if (end === 1) {
      return { json: "[]", nextAfter: undefined };
    }
    const { bytes } = this.#page;
    bytes[0] = openingBracket;
    bytes[end - 1] = closingBracket; // In the place of the last comma.
    return { json: bytes.toString("utf8", 0, end), nextAfter: id === undefined ? undefined : nextAfter };
  }

  /** The least id of an animal that is not less than `from`; undefined if there is none. */
  next(from: number): number | undefined {
    if (this.statusOf(from) !== undefined) {
      return from;
    }
    const least = Math.min(...this.#byStatus.map((ids) => ids.next(from) ?? Infinity));
    return least === Infinity ? undefined : least;
  }

  /**
   * Writes animals of one block into the page at `at`: the first one and those after it, up to `limit` of them, or
   * until many ids have none.
   */
  #assemble(firstId: number, limit: number, at: number): { count: number; lastId: number; end: number } {
    const { view } = this.#page;
    const block = this.#blockOf(firstId);
    const { texts, words } = block;
    const firstPlace = placeOf(firstId);
    let lastPlace = firstPlace;
    let count = 0;
    let end = at;
    for (let place = firstPlace; place < block.count && place - lastPlace <= skippedMax && count < limit; place++) {
      const word = words[place]!;
      const ending = this.#endings[word >>> offsetBits];
      if (ending !== undefined) {
        const start = word & offsetMask;
        const next = words[place + 1]! & offsetMask;
        copyText(texts.view, start, next, view, end);
        end += next - start;
        copyText(ending.padded, 0, ending.padded.byteLength, view, end);
        end += ending.byteCount;
        count++;
        lastPlace = place;
      }
    }
    return { count, lastId: firstId + lastPlace - firstPlace, end };
  }

  /** @param id of an animal */
  #blockOf(id: number): Block {
    return this.#blocks[(id - 1) >>> blockBits]!;
  }

  #blockWithRoom(byteCount: number): Block {
    let block = this.#blocks[this.#blocks.length - 1];
    if (block === undefined || block.count === blockLength) {
      // Most likely enough, so that it is never copied to grow. Memory that is not written costs nothing.
      const expectedBytes = block === undefined ? 65_536 : Math.ceil(block.words[blockLength]! * 1.05);
      block = { texts: createChunk(expectedBytes), words: new Uint32Array(blockLength + 1), count: 0 };
      this.#blocks.push(block);
    }
    makeRoom(block, byteCount);
    return block;
  }
}

/** Makes the texts of the block longer if they have no room for so many bytes more. */
function makeRoom(block: Block, byteCount: number): void {
  const { bytes } = block.texts;
  const used = block.words[block.count]!; // A block has one word more than ids.
  if (used + byteCount > bytes.length) {
    block.texts = createChunk(Math.max(bytes.length * 2, used + byteCount));
    bytes.copy(block.texts.bytes);
  }
}

function placeOf(id: number): number {
  return (id - 1) & placeMask;
}

/** The sum may need all 32 bits, so it is not made with bitwise operators: their result would be negative. */
function wordOf(offset: number, statusIndex: number): number {
  return offset + statusIndex * 2 ** offsetBits;
}

/** The words of a block whose ids all have the status, and no text. */
function wordsOf(statusIndex: number): Uint32Array {
  return new Uint32Array(blockLength + 1).fill(wordOf(0, statusIndex), 0, blockLength);
}

function endingOf(status: string): Ending {
  const text = `${status}"}`;
  return { text, byteCount: text.length + 1, padded: viewOf(Buffer.from(`${text},`.padEnd(16))) };
}

/** Copies 16 bytes at a time, some of the last ones twice: half the time of `Buffer.copy` for so few bytes. */
function copyText(from: DataView, start: number, end: number, to: DataView, at: number): void {
  const last = end - 16;
  for (let place = start; place < last; place += 16) {
    copySixteen(from, place, to, at + place - start);
  }
  copySixteen(from, last, to, at + last - start);
}

/** Doubles are the widest numbers. Only a NaN might change, and no UTF-8 has its bytes: F0 to FF, then 7F or FF. */
function copySixteen(from: DataView, start: number, to: DataView, at: number): void {
  to.setFloat64(at, from.getFloat64(start, true), true);
  to.setFloat64(at + 8, from.getFloat64(start + 8, true), true);
}
