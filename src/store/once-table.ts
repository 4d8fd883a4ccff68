/**
 * Which idempotency token belongs to which animal, for the last 24 hours and at least the last million tokens.
 *
 * The table is a list of segments, each a hash table of fixed size with open addressing. Tokens are added to the newest
 * segment. The oldest is dropped whole once all its tokens are too old, or the others hold enough. So nothing is ever
 * moved, scanned or deleted one by one, and no request pays for forgetting. A slot takes 24 bytes and three of four are
 * used: 32 bytes a token.
 *
 * A token is 128 bits of a SHA-256, so its first bits serve as the hash.
 */

const slotCount = 131_072;
const segmentTokensMax = (slotCount / 4) * 3;
const tokenWords = 4;
export const onceTokenCharacters = 22;
export const onceSecondsMax = 86_400;
/** At least so many of the latest tokens are kept for their time. */
export const onceTokensMin = 1_000_000;
const segmentsMax = Math.ceil(onceTokensMin / segmentTokensMax) + 1;

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
  /** The token asked for, as words: one buffer for all calls. */
  readonly #words = new Uint32Array(tokenWords);
  readonly #bytes = Buffer.from(this.#words.buffer);

  /** Tokens held, including those that are too old and not dropped yet. */
  get count(): number {
    return this.#segments.reduce((total, { count }) => total + count, 0);
  }

  /** The animal that was created with the token less than 24 hours ago; undefined if there is none. */
  find(token: string, nowSeconds: number): number | undefined {
    this.#bytes.write(token, "base64url");
    for (const segment of this.#segments) {
      const slot = this.#slotOf(segment);
      const petId = segment.petIds[slot];
      if (petId !== undefined && petId !== 0 && nowSeconds - (segment.atSeconds[slot] ?? 0) < onceSecondsMax) {
        return petId;
      }
    }
    return undefined;
  }

  /** Adds a token that `find` does not know. */
  add(token: string, petId: number, atSeconds: number): void {
    const segment = this.#segmentWithRoom(atSeconds);
    this.#bytes.write(token, "base64url");
    const slot = this.#slotOf(segment);
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

  /** The slot of the token in `#words`, or the free slot where it would be. */
  #slotOf({ tokens, petIds }: Segment): number {
    const [first, second, third, fourth] = this.#words;
    let slot = (first ?? 0) % slotCount;
    while (
      petIds[slot] !== 0 &&
      (tokens[slot * tokenWords] !== first ||
        tokens[slot * tokenWords + 1] !== second ||
        tokens[slot * tokenWords + 2] !== third ||
        tokens[slot * tokenWords + 3] !== fourth)
    ) {
      slot = (slot + 1) % slotCount;
    }
    return slot;
  }
}
