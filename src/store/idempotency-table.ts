/**
 * A hash table from idempotency hashes to requests. It holds a hash until `idempotencySecondsMax`, and at least the
 * newest `idempotencyHashesMin`. It has no clock: its callers say what time it is.
 *
 * The table is a list of segments. Hashes are added to the newest one. The oldest is dropped whole once all its hashes
 * are too old, or the others hold enough. So no request has to clean up.
 *
 * A segment is a list of entries, and a hash table of their numbers with open addressing. The parts of it that are not
 * written take no memory. A slot also has 16 bits of its entry's sum. So a search hardly ever reads the entry of
 * another hash, which would be a cache miss. Hashes are read through a DataView, as lines of the log are, so that a
 * start adds all of them without allocating.
 *
 * The slot comes from a sum of all characters, each pair times a random number of this table. So two hashes share a
 * slot with the probability 1 / slots, whoever chose them (Dietzfelbinger's multiply-shift): no client can make the
 * table slow.
 */

import { viewOf } from "../base/checksum.ts";
import { idempotencyHours } from "../pets/idempotency-key.ts";

export const idempotencyHashCharacters = 22;
/** Includes 2 s for the rounding of the times to whole seconds. */
export const idempotencySecondsMax = idempotencyHours * 3_600 + 2;
/** How many hashes are known at least, if they are not too old. */
export const idempotencyHashesMin = 1_000_000;

/** An entry's number has 16 bits. 0 is no entry, so that a slot of 0 is free. */
const entryNumberMax = 0xffff;
/** A power of two: twice as many as entries. */
const slotCount = 0x20000;
/** The highest bits of the sum choose the slot: those of a product depend on all bits of its factors. */
const slotShift = 15;
const segmentsMax = Math.ceil(idempotencyHashesMin / entryNumberMax) + 1;

const entryWords = 9;
/** An entry begins with the hash: four characters a word, two in the last, whose upper half has the kind and status. */
const hashWords = 6;
const lastHashWord = hashWords - 1;
const restShift = 16;
const petIdWord = 6;
/** When the request was stored, on the caller's clock. Negative: before the clock began. */
const atSecondsWord = 7;
const versionWord = 8;

/** A random number of four bytes for each pair of characters. */
export const seedBytes = (idempotencyHashCharacters / 2) * 4;

/** A create or a change, and what it made of its animal, which may have changed since. */
export interface StoredRequest {
  /** The animal's. */
  readonly id: number;
  readonly isChange: boolean;
  readonly statusIndex: number;
  readonly version: number;
}

interface Segment {
  readonly slots: Int32Array;
  readonly entries: Int32Array;
  count: number;
  latestSeconds: number;
}

export class IdempotencyTable {
  /** Newest first. */
  readonly #segments: Segment[] = [];
  readonly #multipliers: DataView;
  /** The hash that is searched for. */
  readonly #sought = new Int32Array(hashWords);

  /** @param seed `seedBytes` random bytes */
  constructor(seed: Uint8Array) {
    this.#multipliers = viewOf(seed);
  }

  /** Hashes held, including those that are too old and not dropped yet. */
  get count(): number {
    return this.#segments.reduce((total, { count }) => total + count, 0);
  }

  /** The request with the hash in `bytes` at `start`, if it is not older than `idempotencySecondsMax`. */
  find(bytes: DataView, start: number, nowSeconds: number): StoredRequest | undefined {
    const sum = this.#seek(bytes, start);
    for (const segment of this.#segments) {
      const { slots, entries } = segment;
      const entry = entryStart(slots[this.#slotIn(segment, sum)]!);
      if (entry !== 0 && nowSeconds - entries[entry + atSecondsWord]! < idempotencySecondsMax) {
        const rest = entries[entry + lastHashWord]! >>> restShift;
        const [id, version] = [entries[entry + petIdWord]! >>> 0, entries[entry + versionWord]!];
        return { id, isChange: (rest & 1) === 1, statusIndex: rest >>> 1, version };
      }
    }
    return undefined;
  }

  /** Adds a hash that `find` does not know. Allocates nothing, but for a new segment. */
  add(bytes: DataView, start: number, request: StoredRequest, atSeconds: number): void {
    const { id, isChange, statusIndex, version } = request;
    const segment = this.#segmentWithRoom(atSeconds);
    const { slots, entries } = segment;
    const sum = this.#seek(bytes, start);
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
    entries[entry + versionWord] = version;
    segment.latestSeconds = Math.max(segment.latestSeconds, atSeconds);
  }

  /** The newest segment, or a new one if that is full. Drops the oldest one when it may. */
  #segmentWithRoom(atSeconds: number): Segment {
    const oldest = this.#segments.at(-1);
    if (oldest !== undefined && atSeconds - oldest.latestSeconds >= idempotencySecondsMax) {
      this.#segments.pop();
    }
    const newest = this.#segments[0];
    if (newest !== undefined && newest.count < entryNumberMax) {
      return newest;
    }
    if (this.#segments.length === segmentsMax) {
      this.#segments.pop();
    }
    const slots = new Int32Array(slotCount);
    const entries = new Int32Array((entryNumberMax + 1) * entryWords);
    const segment = { slots, entries, count: 0, latestSeconds: -Infinity };
    this.#segments.unshift(segment);
    return segment;
  }

  /** Makes the hash in `bytes` at `start` the one that is searched for. Returns its sum. */
  #seek(bytes: DataView, start: number): number {
    const multipliers = this.#multipliers;
    const last = bytes.getUint16(start + lastHashWord * 4);
    let sum = Math.imul(last, multipliers.getInt32(0));
    for (let word = 0, at = 4; word < lastHashWord; word++, at += 8) {
      const characters = bytes.getInt32(start + word * 4);
      const first = Math.imul(characters >>> 16, multipliers.getInt32(at));
      sum = (sum + first + Math.imul(characters & 0xffff, multipliers.getInt32(at + 4))) | 0;
      this.#sought[word] = characters;
    }
    this.#sought[lastHashWord] = last;
    return sum;
  }

  /** The slot of the hash in `#sought`, or the free slot where it would be. */
  #slotIn({ slots, entries }: Segment, sum: number): number {
    const mark = markOf(sum);
    let slot = sum >>> slotShift;
    for (;;) {
      const value = slots[slot]!; // `slot` is below `slotCount`.
      const mayBeIt = (value & ~entryNumberMax) === mark;
      if (value === 0 || (mayBeIt && this.#isAt(entries, entryStart(value)))) {
        return slot;
      }
      slot = (slot + 1) % slotCount;
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

/** The upper half of a slot: the lower bits of the sum, which do not choose the slot. */
function markOf(sum: number): number {
  return sum << 16;
}
