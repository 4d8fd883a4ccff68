/**
 * A growing list of ascending ids, in segments, so that growing copies nothing.
 */

const segmentBits = 12;
const segmentLength = 1 << segmentBits;
const placeMask = segmentLength - 1;

export class IdList {
  readonly #segments: Uint32Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Appends an id greater than all before it. */
  push(id: number): void {
    const place = this.#length & placeMask;
    if (place === 0) {
      this.#segments.push(new Uint32Array(segmentLength));
    }
    const segment = this.#segments[this.#segments.length - 1];
    if (segment !== undefined) {
      segment[place] = id;
    }
    this.#length++;
  }

  /** The id at `index`, which must be below `length`. */
  at(index: number): number {
    return this.#segments[index >>> segmentBits]?.[index & placeMask] ?? 0;
  }

  /** The index of the first id greater than `id`; `length` if there is none. */
  firstAfter(id: number): number {
    let low = 0;
    let high = this.#length;
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
