/**
 * Which idempotency hash belongs to which request, for the last 24 hours and at least the last million hashes.
 *
 * The table is a list of segments. Hashes are added to the newest one. The oldest is dropped whole once all its hashes
 * are too old, or the others hold enough. So no request has to clean up.
 *
 * A segment is a list of entries, and a hash table of their numbers with open addressing. It begins small, and doubles
 * until it is full. A slot also has 16 bits of its entry's sum, so that nearly no other entry is read, which would be
 * in no processor cache. Hashes are read through a DataView, as lines of the log are: a start adds a million of them
 * without allocating.
 *
 * The slot comes from a sum of all characters, each pair times a random number of this table. So whoever chose the
 * hashes, two of them share a slot with the probability 1 / slots (Dietzfelbinger's multiply-shift), and nobody can
 * make the table slow.
 */

import { viewOf } from "../base/checksum.ts";
import { idempotencyHours } from "../pets/idempotency-key.ts";

export const idempotencyHashCharacters = 22;
/** With 2 s for the rounding of the times to whole seconds. */
export const idempotencySecondsMax: number = idempotencyHours * 3_600 + 2;
const idempotencyHashesMin = 1_000_000;

/** An entry's number has 16 bits. 0 is no entry, so that a slot of 0 is free. */
const entryNumberMax = 0xffff;
const firstEntryNumberMax = 0xff;
const slotsPerEntry = 2;
const segmentsMax = Math.ceil(idempotencyHashesMin / entryNumberMax) + 1;

const entryWords = 8;
/** An entry begins with the hash's 22 characters: four in each word, two in the last, whose upper half has the rest. */
const hashWords = 6;
const lastHashWord = hashWords - 1;
const restShift = 16;
const petIdWord = 6;
/** When the request was stored, on the caller's clock. Negative: before the clock began. */
const atSecondsWord = 7;

/** A random number of four bytes for each pair of characters. */
export const seedBytes: number = (idempotencyHashCharacters / 2) * 4;

/** A create with its status, which may have changed since; or a change to the status. */
export interface StoredRequest {
  /** Of the animal. */
  readonly id: number;
  readonly isChange: boolean;
  readonly statusIndex: number;
}

interface Segment {
  /** A power of two of them. */
  slots: Int32Array;
  entries: Int32Array;
  count: number;
  latestSeconds: number;
}

export class IdempotencyTable {
  /** Newest first. */
  readonly #segments: Segment[] = [];
  readonly #multipliers: DataView;
  /** The hash that is searched for. */
  readonly #sought = new Int32Array(hashWords);

  /** @param seed `seedBytes` random ones */
  constructor(seed: Uint8Array) {
    this.#multipliers = viewOf(seed);
  }

  /** Hashes held, including those that are too old and not dropped yet. */
  get count(): number {
    return this.#segments.reduce((total, { count }) => total + count, 0);
  }

  /** The request that was stored less than 24 hours ago with the hash whose characters are in `bytes` at `start`. */
  find(bytes: DataView, start: number, nowSeconds: number): StoredRequest | undefined {
    this.#seek(bytes, start);
    const sum = this.#sumOf(this.#sought, 0);
    for (const segment of this.#segments) {
      const { slots, entries } = segment;
      const entry = entryStart(slots[this.#slotIn(segment, sum)]!);
      if (entry !== 0 && nowSeconds - entries[entry + atSecondsWord]! < idempotencySecondsMax) {
        const rest = entries[entry + lastHashWord]! >>> restShift;
        return { id: entries[entry + petIdWord]! >>> 0, isChange: (rest & 1) === 1, statusIndex: rest >>> 1 };
      }
    }
    return undefined;
  }

  /** Adds a hash that `find` does not know. */
  add(bytes: DataView, start: number, { id, isChange, statusIndex }: StoredRequest, atSeconds: number): void {
    const segment = this.#segmentWithRoom(atSeconds);
    const { slots, entries } = segment;
    this.#seek(bytes, start);
    const sum = this.#sumOf(this.#sought, 0);
    const slot = this.#slotIn(segment, sum);
    if (slots[slot] === 0) {
      segment.count++;
      slots[slot] = markOf(sum) | segment.count;
    }
    const entry = entryStart(slots[slot]!);
    for (let word = 0; word < hashWords; word++) {
      entries[entry + word] = this.#sought[word]!;
    }
    entries[entry + lastHashWord]! |= ((statusIndex << 1) | Number(isChange)) << restShift;
    entries[entry + petIdWord] = id;
    entries[entry + atSecondsWord] = atSeconds;
    segment.latestSeconds = Math.max(segment.latestSeconds, atSeconds);
  }

  #segmentWithRoom(nowSeconds: number): Segment {
    const oldest = this.#segments.at(-1);
    if (oldest !== undefined && nowSeconds - oldest.latestSeconds >= idempotencySecondsMax) {
      this.#segments.pop();
    }
    const newest = this.#segments[0];
    if (newest !== undefined && newest.count < entryNumberMax) {
      if (newest.count === entryNumberMaxOf(newest)) {
        this.#grow(newest);
      }
      return newest;
    }
    if (this.#segments.length === segmentsMax) {
      this.#segments.pop();
    }
    const segment = { ...emptyTable(firstEntryNumberMax), count: 0, latestSeconds: -Infinity };
    this.#segments.unshift(segment);
    return segment;
  }

  #grow(segment: Segment): void {
    const { slots, entries } = emptyTable(entryNumberMaxOf(segment) * 2 + 1);
    entries.set(segment.entries);
    for (let number = 1; number <= segment.count; number++) {
      const sum = this.#sumOf(entries, number * entryWords);
      let slot = slotOf(sum, slots);
      while (slots[slot] !== 0) {
        slot = (slot + 1) % slots.length;
      }
      slots[slot] = markOf(sum) | number;
    }
    segment.slots = slots;
    segment.entries = entries;
  }

  #seek(bytes: DataView, start: number): void {
    for (let word = 0; word < lastHashWord; word++) {
      this.#sought[word] = bytes.getInt32(start + word * 4);
    }
    this.#sought[lastHashWord] = bytes.getUint16(start + lastHashWord * 4);
  }

  /** Of the hash in `words` at `start`. */
  #sumOf(words: Int32Array, start: number): number {
    const multipliers = this.#multipliers;
    let sum = 0;
    for (let word = 0, at = 4; word < lastHashWord; word++, at += 8) {
      const characters = words[start + word]!; // The caller's hash has so many.
      const first = Math.imul(characters >>> 16, multipliers.getInt32(at));
      sum = (sum + first + Math.imul(characters & 0xffff, multipliers.getInt32(at + 4))) | 0;
    }
    return (sum + Math.imul(words[start + lastHashWord]! & 0xffff, multipliers.getInt32(0))) | 0;
  }

  /** The slot of the hash in `#sought`, or the free slot where it would be. */
  #slotIn({ slots, entries }: Segment, sum: number): number {
    const mark = markOf(sum);
    let slot = slotOf(sum, slots);
    for (;;) {
      const value = slots[slot]!; // `slot` is below `slots.length`.
      const mayBeIt = (value & ~entryNumberMax) === mark;
      if (value === 0 || (mayBeIt && this.#isAt(entries, entryStart(value)))) {
        return slot;
      }
      slot = (slot + 1) % slots.length;
    }
  }

  #isAt(entries: Int32Array, start: number): boolean {
    for (let word = 0; word < lastHashWord; word++) {
      if (entries[start + word] !== this.#sought[word]) {
        return false;
      }
    }
    return (entries[start + lastHashWord]! & 0xffff) === this.#sought[lastHashWord];
  }
}

function entryStart(slot: number): number {
  return (slot & entryNumberMax) * entryWords;
}

function emptyTable(numberMax: number): Pick<Segment, "slots" | "entries"> {
  const length = numberMax + 1;
  return { slots: new Int32Array(length * slotsPerEntry), entries: new Int32Array(length * entryWords) };
}

function entryNumberMaxOf({ entries }: Segment): number {
  return entries.length / entryWords - 1;
}

/** From the first bits of the sum: those of a product depend on all bits of its factors. */
function slotOf(sum: number, { length }: Int32Array): number {
  return sum >>> (Math.clz32(length) + 1);
}

/** The 16 bits beside the entry's number: those of the sum that the slot is not from. */
function markOf(sum: number): number {
  return sum << 16;
}
