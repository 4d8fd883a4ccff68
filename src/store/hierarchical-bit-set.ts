/**
 * A set of ids that knows the next id in it at once, however far away: a bit for each id, above them a bit for each
 * word that is not 0, and so on up to one word. It takes 1/8 of a byte for each id up to the largest.
 */

const wordBits = 5;
const wordMask = 31;
/** So many levels that the highest one has a single word. */
const levelCount = 7;

export class HierarchicalBitSet {
  /** The ids are at level 0. */
  readonly #levels: Int32Array[] = Array.from({ length: levelCount }, () => new Int32Array(1));

  /** @param id below 2 ** 31 */
  add(id: number): void {
    for (let level = 0, bit = id; level < levelCount; level++, bit >>>= wordBits) {
      const index = bit >>> wordBits;
      const words = this.#wordsWithRoom(level, index);
      const before = words[index]!; // It is long enough now.
      words[index] = before | (1 << (bit & wordMask));
      if (before !== 0) {
        return; // The bits above are set already.
      }
    }
  }

  has(id: number): boolean {
    return ((this.#levels[0]![id >>> wordBits] ?? 0) & (1 << (id & wordMask))) !== 0;
  }

  /** @param id is in the set */
  delete(id: number): void {
    for (let level = 0, bit = id; level < levelCount; level++, bit >>>= wordBits) {
      const words = this.#levels[level]!; // Every level has words.
      const index = bit >>> wordBits;
      words[index]! &= ~(1 << (bit & wordMask));
      if (words[index] !== 0) {
        return; // The bits above stay set.
      }
    }
  }

  /** The least id of the set that is not less than `from`; undefined if there is none. */
  next(from: number): number | undefined {
    let bit = from;
    for (let level = 0; level < levelCount; level++) {
      const word = this.#levels[level]?.[bit >>> wordBits] ?? 0;
      const rest = word & (-1 << (bit & wordMask));
      if (rest !== 0) {
        return this.#least(level, (bit & ~wordMask) | lowestBit(rest));
      }
      bit = (bit >>> wordBits) + 1;
    }
    return undefined;
  }

  /** The least id below a bit that is set. */
  #least(bitLevel: number, bit: number): number {
    let least = bit;
    for (let level = bitLevel - 1; level >= 0; level--) {
      least = (least << wordBits) | lowestBit(this.#levels[level]![least]!); // The bit above says that it is not 0.
    }
    return least;
  }

  #wordsWithRoom(level: number, index: number): Int32Array {
    const words = this.#levels[level]!; // Every level has words.
    if (index < words.length) {
      return words;
    }
    const grown = new Int32Array(Math.max(words.length * 2, index + 1));
    grown.set(words);
    this.#levels[level] = grown;
    return grown;
  }
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}
