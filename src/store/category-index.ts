/**
 * Finds the animals of a category, and those of them that have a status. The ids of each category are in chunks, in
 * ascending order, and each chunk knows how many of its animals have each status. So a chunk without one is passed
 * over, a change of a status moves nothing, and an animal that enters or leaves a category moves the ids of one chunk.
 */

import { setImmediate as eventLoopTurn } from "node:timers/promises";

import { Literal, textOf } from "../base/checksum.ts";

/** A number where that is exact, for it is found faster; else its digits. */
export type Category = number | string;

type NextId = (from: number) => number | undefined;

/** A part of the one array of all chunks: a count for each status, then the ids in ascending order, at least one. */
interface Chunk {
  /** Where the ids begin. */
  readonly start: number;
  readonly capacity: number;
  length: number;
}

/**
 * A category's first chunk has the least capacity. Each one behind it has twice as much as the one before, and so has
 * the one in the place of a full chunk that another id comes into. One of the most capacity is cut in halves.
 */
const capacityMin = 8;
const capacityMax = 512;
/** So many ids take a few milliseconds. */
const idsPerTurn = 32_768;
const exactDigits = 15;

export class CategoryIndex {
  readonly #statusCount: number;
  readonly #statusOf: (id: number) => number | undefined;
  /** Those of the categories that have an animal. */
  readonly #chunks = new Map<Category, Chunk[]>();
  /** All chunks. */
  #words = new Uint32Array(1_024);
  #wordsUsed = 0;
  /** Chunks that were emptied, by their capacity. */
  readonly #free = new Map<number, Chunk[]>();

  /** @param statusOf the index of an animal's status: it is asked about animals in the index only */
  constructor(statusCount: number, statusOf: (id: number) => number | undefined) {
    this.#statusCount = statusCount;
    this.#statusOf = statusOf;
  }

  /**
   * Adds all animals to an empty index. One by one, each would wait for memory that is far from that of the last one: a
   * start would take twice as long. Lets the event loop run in between; meanwhile no animal may change.
   * @param count how many animals there are
   * @param nextId the least id of an animal that is not less than the one given; undefined if there is none
   */
  async addAll(count: number, nextId: NextId, categoryOf: (id: number) => Category): Promise<void> {
    const numbers = new Map<Category, number>(); // Categories are numbered from 0.
    const sizes: number[] = [];
    const numberOf = new Uint32Array(count); // By the animal's index: between two ids there may be a billion of none.
    await forEachId(nextId, (id, index) => {
      const category = categoryOf(id);
      let number = numbers.get(category);
      if (number === undefined) {
        number = sizes.push(0) - 1;
        numbers.set(category, number);
      }
      numberOf[index] = number;
      sizes[number]!++;
    });
    const starts = new Uint32Array(sizes.length);
    for (const [category, number] of numbers) {
      const chunks = this.#createChunks(sizes[number]!);
      this.#chunks.set(category, chunks);
      starts[number] = chunks[0]!.start; // A category has an animal.
    }
    const placed = new Uint32Array(sizes.length);
    const words = this.#words;
    await forEachId(nextId, (id, index) => {
      const number = numberOf[index]!;
      const place = placed[number]!++;
      const start = starts[number]! + Math.floor(place / capacityMax) * (capacityMax + this.#statusCount);
      words[start + (place % capacityMax)] = id;
      words[start - 1 - this.#statusOf(id)!]!++; // It is an animal.
    });
  }

  /** @param statusIndex the one that the animal has */
  add(category: Category, id: number, statusIndex: number): void {
    let chunks = this.#chunks.get(category);
    if (chunks === undefined) {
      chunks = [this.#createChunk(capacityMin)];
      this.#chunks.set(category, chunks);
    }
    const index = Math.max(0, this.#indexOf(chunks, id));
    let chunk = chunks[index]!; // A category in the map has a chunk.
    if (chunk.length === chunk.capacity) {
      const other = this.#createChunk(Math.min(2 * chunk.capacity, capacityMax));
      if (this.#words[chunk.start + chunk.length - 1]! < id) { // As that of a new animal is.
        chunks.splice(index + 1, 0, other);
        chunk = other;
      } else if (other.capacity > chunk.capacity) {
        this.#moveFrom(chunk, 0, other);
        this.#release(chunk);
        chunks[index] = other;
        chunk = other;
      } else {
        this.#moveFrom(chunk, chunk.capacity >>> 1, other);
        chunks.splice(index + 1, 0, other);
        chunk = this.#words[other.start]! < id ? other : chunk;
      }
    }
    const place = this.#placeFrom(chunk, id);
    const end = chunk.start + chunk.length;
    if (place < end) {
      this.#words.copyWithin(place + 1, place, end);
    }
    this.#words[place] = id;
    chunk.length++;
    this.#words[chunk.start - 1 - statusIndex]!++;
  }

  /** @param statusIndex the one that it had in the index */
  delete(category: Category, id: number, statusIndex: number): void {
    const chunks = this.#chunks.get(category)!; // It has the animal.
    const index = this.#indexOf(chunks, id);
    const chunk = chunks[index]!;
    const place = this.#placeFrom(chunk, id);
    this.#words.copyWithin(place, place + 1, chunk.start + chunk.length);
    chunk.length--;
    this.#words[chunk.start - 1 - statusIndex]!--;
    if (chunk.length === 0) {
      chunks.splice(index, 1);
      this.#release(chunk);
    }
    if (chunks.length === 0) {
      this.#chunks.delete(category);
    }
  }

  changeStatus(category: Category, id: number, from: number, to: number): void {
    const chunks = this.#chunks.get(category)!; // It has the animal.
    const { start } = chunks[this.#indexOf(chunks, id)]!;
    this.#words[start - 1 - from]!--;
    this.#words[start - 1 - to]!++;
  }

  /**
   * The least id in the category that is not less than `from`; undefined if there is none.
   * @param statusIndex only an animal of this status; any if undefined
   */
  next(category: Category, statusIndex: number | undefined, from: number): number | undefined {
    const chunks = this.#chunks.get(category) ?? [];
    for (let index = Math.max(0, this.#indexOf(chunks, from)); index < chunks.length; index++) {
      const chunk = chunks[index]!; // The index is within the array.
      if (statusIndex === undefined || this.#words[chunk.start - 1 - statusIndex]! > 0) {
        for (let place = this.#placeFrom(chunk, from); place < chunk.start + chunk.length; place++) {
          const id = this.#words[place]!; // The index is within the array.
          if (statusIndex === undefined || this.#statusOf(id) === statusIndex) {
            return id;
          }
        }
      }
    }
    return undefined;
  }

  /** Chunks for so many animals, one behind the other: all but the last are full. */
  #createChunks(size: number): Chunk[] {
    const chunks: Chunk[] = [];
    for (let left = size; left > 0; left -= capacityMax) {
      const length = Math.min(left, capacityMax);
      const chunk = this.#createChunk(Math.max(capacityMin, 2 ** Math.ceil(Math.log2(length))));
      chunk.length = length;
      chunks.push(chunk);
    }
    return chunks;
  }

  #createChunk(capacity: number): Chunk {
    const freed = this.#free.get(capacity)?.pop();
    if (freed !== undefined) {
      return freed; // All its counts are 0.
    }
    const start = this.#wordsUsed + this.#statusCount;
    this.#wordsUsed = start + capacity;
    if (this.#wordsUsed > this.#words.length) {
      const words = new Uint32Array(2 * this.#words.length); // What is not written takes no memory.
      words.set(this.#words);
      this.#words = words;
    }
    return { start, capacity, length: 0 };
  }

  /** Takes back a chunk that was emptied. */
  #release(chunk: Chunk): void {
    const freed = this.#free.get(chunk.capacity) ?? [];
    freed.push(chunk);
    this.#free.set(chunk.capacity, freed);
  }

  /** Moves the ids of a chunk from a place on to an empty one. */
  #moveFrom(from: Chunk, place: number, to: Chunk): void {
    const words = this.#words;
    words.copyWithin(to.start, from.start + place, from.start + from.length);
    to.length = from.length - place;
    from.length = place;
    for (const id of words.subarray(to.start, to.start + to.length)) {
      const statusIndex = this.#statusOf(id)!; // Each is an animal.
      words[from.start - 1 - statusIndex]!--;
      words[to.start - 1 - statusIndex]!++;
    }
  }

  /** The index of the last chunk that begins with the id or a lesser one; -1 if none does. */
  #indexOf(chunks: readonly Chunk[], id: number): number {
    const words = this.#words;
    let [index, end] = [0, chunks.length];
    if (end > 0 && words[chunks[end - 1]!.start]! <= id) {
      return end - 1; // Nearly always while a catalogue grows.
    }
    while (index < end) {
      const middle = (index + end) >>> 1;
      if (words[chunks[middle]!.start]! <= id) {
        index = middle + 1;
      } else {
        end = middle;
      }
    }
    return index - 1;
  }

  /** The place of the chunk's first id that is not less; behind them all if there is none. */
  #placeFrom({ start, length }: Chunk, id: number): number {
    const words = this.#words;
    let [place, end] = [start, start + length];
    if (length > 0 && words[end - 1]! < id) {
      return end; // Nearly always while a catalogue grows.
    }
    while (place < end) {
      const middle = (place + end) >>> 1;
      if (words[middle]! < id) {
        place = middle + 1;
      } else {
        end = middle;
      }
    }
    return place;
  }
}

async function forEachId(nextId: NextId, act: (id: number, index: number) => void): Promise<void> {
  let index = 0;
  for (let id = nextId(1); id !== undefined; id = nextId(id + 1)) {
    act(id, index);
    index++;
    if (index % idsPerTurn === 0) {
      await eventLoopTurn();
    }
  }
}

export function categoryOf(categoryId: bigint): Category {
  const digits = String(categoryId);
  return digits.length > exactDigits ? digits : Number(digits);
}

/** In no value of an animal's text: there each quotation mark has a backslash. */
const beforeCategory = new Literal(',"categoryId":');
const colon = 0x3a;
const minus = 0x2d;

/** The category in an animal's text, which ends at `end`, behind the quotation mark before its status. */
export function categoryIn(bytes: DataView, end: number): Category {
  let at = end - '0,"status":"'.length; // A digit of it, unless other members follow.
  while (bytes.getUint8(at - 1) !== colon || !beforeCategory.isAt(bytes, at - beforeCategory.length)) {
    at--;
  }
  const isNegative = bytes.getUint8(at) === minus;
  let value = 0;
  let place = isNegative ? at + 1 : at;
  for (let digit = bytes.getUint8(place) - 0x30; digit >= 0 && digit <= 9; digit = bytes.getUint8(++place) - 0x30) {
    value = value * 10 + digit;
  }
  if (place - at > exactDigits) {
    return textOf(bytes, at, place);
  }
  return isNegative ? -value : value;
}
