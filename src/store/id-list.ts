/**
 * A growing list of ascending ids, in segments, so that growing copies nothing.
 */

const segmentLength = 4_096;

export class IdList {
  readonly #segments: Uint32Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Appends an id greater than all before it. */
  push(id: number): void {
    const place = this.#length % segmentLength;
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
    return this.#segments[Math.floor(index / segmentLength)]?.[index % segmentLength] ?? 0;
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
