/**
 * Which idempotency hash belongs to which animal, for the last 24 hours and at least the last million hashes.
 *
 * The table is a list of segments. Hashes are added to the newest one. The oldest is dropped whole once all its hashes
 * are too old, or the others hold enough. So no request has to clean up.
 *
 * A segment is a list of entries, and a hash table of their numbers with open addressing. A slot also has 16 bits of
 * its entry's hash, so that nearly no other entry is read, which would be in no processor cache. Hashes are read
 * through a DataView, as lines of the log are: a start adds a million of them without allocating.
 */

import { idempotencyHours } from "../pets/idempotency-key.ts";

export const idempotencyHashCharacters = 22;
/** With 2 s for the rounding of the times to whole seconds. */
export const idempotencySecondsMax: number = idempotencyHours * 3_600 + 2;
const idempotencyHashesMin = 1_000_000;

/** An entry's number has 16 bits. 0 is no entry, so that a slot of 0 is free. */
const entryNumberMax = 0xffff;
const segmentsMax = Math.ceil(idempotencyHashesMin / entryNumberMax) + 1;
/** Two slots for each entry. */
const slotBits = 17;
const slotCount = 2 ** slotBits;
/** 2 ** 32 divided by the golden ratio: multiplying by it spreads the bits of a word (Knuth). */
const spread = 0x9e3779b1;

const entryWords = 8;
/** An entry begins with the hash's 22 characters: four in each word, two in the last. */
const hashWords = 6;
const petIdWord = 6;
/** When the animal was created, on the caller's clock. Negative: before the clock began. */
const atSecondsWord = 7;

interface Segment {
  readonly slots: Int32Array;
  readonly entries: Int32Array;
  count: number;
  latestSeconds: number;
}

export class IdempotencyTable {
  /** Newest first. */
  readonly #segments: Segment[] = [];
  /** The hash that is searched for. */
  readonly #sought = new Int32Array(hashWords);

  /** Hashes held, including those that are too old and not dropped yet. */
  get count(): number {
    return this.#segments.reduce((total, { count }) => total + count, 0);
  }

  /** The animal that was created less than 24 hours ago with the hash whose characters are in `bytes` at `start`. */
  find(bytes: DataView, start: number, nowSeconds: number): number | undefined {
    this.#seek(bytes, start);
    for (const segment of this.#segments) {
      const { slots, entries } = segment;
      const entry = entryStart(slots[this.#slotIn(segment)]!);
      if (entry !== 0 && nowSeconds - entries[entry + atSecondsWord]! < idempotencySecondsMax) {
        return entries[entry + petIdWord]! >>> 0;
      }
    }
    return undefined;
  }

  /** Adds a hash that `find` does not know. */
  add(bytes: DataView, start: number, petId: number, atSeconds: number): void {
    const segment = this.#segmentWithRoom(atSeconds);
    const { slots, entries } = segment;
    this.#seek(bytes, start);
    const slot = this.#slotIn(segment);
    if (slots[slot] === 0) {
      segment.count++;
      slots[slot] = this.#mark() | segment.count;
    }
    const entry = entryStart(slots[slot]!);
    for (let word = 0; word < hashWords; word++) {
      entries[entry + word] = this.#sought[word]!;
    }
    entries[entry + petIdWord] = petId;
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
      return newest;
    }
    if (this.#segments.length === segmentsMax) {
      this.#segments.pop();
    }
    const segment = {
      slots: new Int32Array(slotCount),
      entries: new Int32Array((entryNumberMax + 1) * entryWords),
      count: 0,
      latestSeconds: -Infinity,
    };
    this.#segments.unshift(segment);
    return segment;
  }

  #seek(bytes: DataView, start: number): void {
    for (let word = 0; word < hashWords - 1; word++) {
      this.#sought[word] = bytes.getInt32(start + word * 4);
    }
    this.#sought[hashWords - 1] = bytes.getUint16(start + (hashWords - 1) * 4);
  }

  /** The slot of the hash in `#sought`, or the free slot where it would be. */
  #slotIn({ slots, entries }: Segment): number {
    const mark = this.#mark();
    let slot = Math.imul(this.#sought[0]!, spread) >>> (32 - slotBits);
    for (;;) {
      const value = slots[slot]!; // `slot` is below `slotCount`.
      const mayBeIt = (value & ~entryNumberMax) === mark;
      if (value === 0 || (mayBeIt && this.#isAt(entries, entryStart(value)))) {
        return slot;
      }
      slot = (slot + 1) % slotCount;
    }
  }

  /** The 16 bits beside the entry's number. Not from the word that gives the slot: there, neighbours are alike. */
  #mark(): number {
    return Math.imul(this.#sought[1]!, spread) & ~entryNumberMax;
  }

  #isAt(entries: Int32Array, start: number): boolean {
    for (let word = 0; word < hashWords; word++) {
      if (entries[start + word] !== this.#sought[word]) {
        return false;
      }
    }
    return true;
  }
}

function entryStart(slot: number): number {
  return (slot & entryNumberMax) * entryWords;
}
