/** The versions of animals: 1 until the first change. They are in blocks, made when one of their animals changes. */

const blockBits = 12;
const placeMask = 2 ** blockBits - 1;

export class Versions {
  readonly #blocks: (Uint32Array | undefined)[] = [];

  /** @param id from 1 on */
  of(id: number): number {
    return this.#blocks[(id - 1) >>> blockBits]?.[(id - 1) & placeMask] ?? 1;
  }

  set(id: number, version: number): void {
    const index = (id - 1) >>> blockBits;
    while (this.#blocks.length <= index) {
      this.#blocks.push(undefined); // An array with holes is slow.
    }
    const block = (this.#blocks[index] ??= new Uint32Array(placeMask + 1).fill(1));
    block[(id - 1) & placeMask] = version;
  }
}
