/**
 * Which idempotency hash belongs to which animal, for the last 24 hours and at least the last million hashes.
 *
 * The table is a list of segments, each a hash table of fixed size with open addressing. Hashes are added to the newest
 * segment. The oldest is dropped whole once all its hashes are too old, or the others hold enough. So nothing is ever
 * moved, scanned or deleted one by one, and no request has to clean up. A slot takes 32 bytes and 13 of 16 are
 * used: 39 bytes a hash.
 *
 * Hashes are read through a DataView, as lines of the log are: a start adds a million of them without allocating.
 */

export const idempotencyHashCharacters = 22;
/** 24 hours, and 2 s for the rounding of the times to whole seconds: no hash is forgotten too early. */
export const idempotencySecondsMax = 86_402;
/** At least this many of the latest hashes are kept for 24 hours. */
const idempotencyHashesMin = 1_000_000;

const slotBits = 17;
const slotCount = 2 ** slotBits;
const segmentHashesMax = (slotCount / 16) * 13;
const segmentsMax = Math.ceil(idempotencyHashesMin / segmentHashesMax) + 1;
/** A hash's 22 characters: four in each word, two in the last. */
const hashWords = 6;

interface Segment {
  readonly hashes: Uint32Array;
  /** The animal of each slot; 0 if the slot is free. */
  readonly petIds: Uint32Array;
  /** When the animal was created, in seconds on the caller's clock. Negative: before the clock began. */
  readonly atSeconds: Int32Array;
  count: number;
  /** The latest of `atSeconds`. */
  latestSeconds: number;
}

export class IdempotencyTable {
  /** Newest first. */
  readonly #segments: Segment[] = [];
  /** The hash that is searched for. */
  readonly #words = new Uint32Array(hashWords);

  /** Hashes held, including those that are too old and not dropped yet. */
  get count(): number {
    return this.#segments.reduce((total, { count }) => total + count, 0);
  }

  /**
   * Returns the animal that was created with the hash less than 24 hours ago, or undefined if there is none.
   *
   * @param bytes the hash's characters are at `start`
   */
  find(bytes: DataView, start: number, nowSeconds: number): number | undefined {
    this.#readWords(bytes, start);
    for (const segment of this.#segments) {
      const slot = this.#slotIn(segment);
      const petId = segment.petIds[slot] ?? 0;
      if (petId !== 0 && nowSeconds - (segment.atSeconds[slot] ?? 0) < idempotencySecondsMax) {
        return petId;
      }
    }
    return undefined;
  }

  /** Adds a hash that `find` does not know. */
  add(bytes: DataView, start: number, petId: number, atSeconds: number): void {
    const segment = this.#segmentWithRoom(atSeconds);
    this.#readWords(bytes, start);
    const slot = this.#slotIn(segment);
    segment.count += segment.petIds[slot] === 0 ? 1 : 0;
    segment.hashes.set(this.#words, slot * hashWords);
    segment.petIds[slot] = petId;
    segment.atSeconds[slot] = atSeconds;
    segment.latestSeconds = Math.max(segment.latestSeconds, atSeconds);
  }

  #segmentWithRoom(nowSeconds: number): Segment {
    const oldest = this.#segments.at(-1);
    if (oldest !== undefined && nowSeconds - oldest.latestSeconds >= idempotencySecondsMax) {
      this.#segments.pop();
    }
    const newest = this.#segments[0];
    if (newest !== undefined && newest.count < segmentHashesMax) {
      return newest;
    }
    if (this.#segments.length === segmentsMax) {
      this.#segments.pop();
    }
    const segment = {
      hashes: new Uint32Array(slotCount * hashWords),
      petIds: new Uint32Array(slotCount),
      atSeconds: new Int32Array(slotCount),
      count: 0,
      latestSeconds: -Infinity,
    };
    this.#segments.unshift(segment);
    return segment;
  }

  #readWords(bytes: DataView, start: number): void {
    for (let word = 0; word < hashWords - 1; word++) {
      this.#words[word] = bytes.getUint32(start + word * 4);
    }
    this.#words[hashWords - 1] = bytes.getUint16(start + (hashWords - 1) * 4);
  }

  /** The slot of the hash in `#words`, or the free slot where it would be. Hashes are random: one word suffices. */
  #slotIn({ hashes, petIds }: Segment): number {
    const words = this.#words;
    let slot = Math.imul(words[0] ?? 0, 0x9e3779b1) >>> (32 - slotBits);
    while (petIds[slot] !== 0 && !isHashAt(hashes, slot * hashWords, words)) {
      slot = (slot + 1) % slotCount;
    }
    return slot;
  }
}

function isHashAt(hashes: Uint32Array, start: number, words: Uint32Array): boolean {
  for (let word = 0; word < hashWords; word++) {
    if (hashes[start + word] !== words[word]) {
      return false;
    }
  }
  return true;
}
