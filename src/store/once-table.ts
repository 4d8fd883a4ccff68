/**
 * Which idempotency token belongs to which animal, for the last 24 hours and at least the last million tokens.
 *
 * The table is a list of segments, each a hash table of fixed size with open addressing. Tokens are added to the newest
 * segment. The oldest is dropped whole once all its tokens are too old, or the others hold enough. So nothing is ever
 * moved, scanned or deleted one by one, and no request has to clean up. A slot takes 32 bytes and three of four are
 * used: 43 bytes a token.
 *
 * Tokens are read through a DataView, as lines of the log are: a start adds a million of them without allocating.
 */

export const onceTokenCharacters = 22;
export const onceSecondsMax = 86_400;
/** At least this many of the latest tokens are kept for 24 hours. */
export const onceTokensMin = 1_000_000;

const slotBits = 17;
const slotCount = 2 ** slotBits;
const segmentTokensMax = (slotCount / 4) * 3;
const segmentsMax = Math.ceil(onceTokensMin / segmentTokensMax) + 1;
/** A token's 22 characters: four in each word, two in the last. */
const tokenWords = 6;

interface Segment {
  readonly tokens: Uint32Array;
  /** The animal of each slot; 0 if the slot is free. */
  readonly petIds: Uint32Array;
  /** When the animal was created, in seconds on the caller's clock. Negative: before the clock began. */
  readonly atSeconds: Int32Array;
  count: number;
  /** The latest of `atSeconds`. */
  latestSeconds: number;
}

export class OnceTable {
  /** Newest first. */
  readonly #segments: Segment[] = [];
  /** The token that is searched for. */
  readonly #words = new Uint32Array(tokenWords);

  /** Tokens held, including those that are too old and not dropped yet. */
  get count(): number {
    return this.#segments.reduce((total, { count }) => total + count, 0);
  }

  /**
   * Returns the animal that was created with the token less than 24 hours ago, or undefined if there is none.
   *
   * @param bytes the token's characters are at `start`
   */
  find(bytes: DataView, start: number, nowSeconds: number): number | undefined {
    this.#readWords(bytes, start);
    for (const segment of this.#segments) {
      const slot = this.#slotIn(segment);
      const petId = segment.petIds[slot] ?? 0;
      if (petId !== 0 && nowSeconds - (segment.atSeconds[slot] ?? 0) < onceSecondsMax) {
        return petId;
      }
    }
    return undefined;
  }

  /** Adds a token that `find` does not know. */
  add(bytes: DataView, start: number, petId: number, atSeconds: number): void {
    const segment = this.#segmentWithRoom(atSeconds);
    this.#readWords(bytes, start);
    const slot = this.#slotIn(segment);
    segment.count += segment.petIds[slot] === 0 ? 1 : 0;
    segment.tokens.set(this.#words, slot * tokenWords);
    segment.petIds[slot] = petId;
    segment.atSeconds[slot] = atSeconds;
    segment.latestSeconds = Math.max(segment.latestSeconds, atSeconds);
  }

  #segmentWithRoom(nowSeconds: number): Segment {
    const oldest = this.#segments.at(-1);
    if (oldest !== undefined && nowSeconds - oldest.latestSeconds >= onceSecondsMax) {
      this.#segments.pop();
    }
    const newest = this.#segments[0];
    if (newest !== undefined && newest.count < segmentTokensMax) {
      return newest;
    }
    if (this.#segments.length === segmentsMax) {
      this.#segments.pop();
    }
    const segment = {
      tokens: new Uint32Array(slotCount * tokenWords),
      petIds: new Uint32Array(slotCount),
      atSeconds: new Int32Array(slotCount),
      count: 0,
      latestSeconds: -Infinity,
    };
    this.#segments.unshift(segment);
    return segment;
  }

  #readWords(bytes: DataView, start: number): void {
    for (let word = 0; word < tokenWords - 1; word++) {
      this.#words[word] = bytes.getUint32(start + word * 4);
    }
    this.#words[tokenWords - 1] = bytes.getUint16(start + (tokenWords - 1) * 4);
  }

  /** The slot of the token in `#words`, or the free slot where it would be. Tokens are random: one word suffices. */
  #slotIn({ tokens, petIds }: Segment): number {
    const words = this.#words;
    let slot = Math.imul(words[0] ?? 0, 0x9e3779b1) >>> (32 - slotBits);
    while (petIds[slot] !== 0 && !isTokenAt(tokens, slot * tokenWords, words)) {
      slot = (slot + 1) % slotCount;
    }
    return slot;
  }
}

function isTokenAt(tokens: Uint32Array, start: number, words: Uint32Array): boolean {
  for (let word = 0; word < tokenWords; word++) {
    if (tokens[start + word] !== words[word]) {
      return false;
    }
  }
  return true;
}
