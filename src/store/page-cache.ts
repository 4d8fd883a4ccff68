/**
 * Pages that were made before, ready to be sent again. Animals are never changed or removed and new ones come last, so
 * a page that is full stays what it is for ever: nothing here ever has to be invalidated. Whether there is a next page
 * does change, and is not kept.
 */

/** Enough for the first pages of every filter and size that clients really ask for. */
const pageCountMax = 256;
const pageBytesMax = 4_194_304;

export class KeptPages {
  readonly #pages = new Map<number, Uint8Array>();
  #byteCount = 0;

  /** @param entry a number for the query that the page answers */
  get(entry: number): Uint8Array | undefined {
    return this.#pages.get(entry);
  }

  /** Keeps a full page. Beyond the bounds all are dropped: those that are asked for come back with the next request. */
  keep(entry: number, page: Uint8Array): void {
    if (this.#pages.size >= pageCountMax || this.#byteCount + page.length > pageBytesMax) {
      this.#pages.clear();
      this.#byteCount = 0;
    }
    this.#pages.set(entry, page);
    this.#byteCount += page.length;
  }
}
