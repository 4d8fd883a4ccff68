/**
 * Keeps full pages, to send them again. Animals are never changed or removed, and new ones come last, so a full page
 * never changes and nothing has to be invalidated. Whether there is a next page does change, and is not kept.
 */

/** Enough for the first pages of every filter and size that clients ask for. */
const pageCountMax = 256;
const pageBytesMax = 4_194_304;

export class KeptPages {
  readonly #pages = new Map<string, Uint8Array>();
  #byteCount = 0;

  /** @param entry identifies the query of the page */
  get(entry: string): Uint8Array | undefined {
    return this.#pages.get(entry);
  }

  /** Keeps a full page. At a bound all are dropped; those in use are kept again after the next request. */
  keep(entry: string, page: Uint8Array): void {
    if (this.#pages.size >= pageCountMax || this.#byteCount + page.length > pageBytesMax) {
      this.#pages.clear();
      this.#byteCount = 0;
    }
    this.#pages.set(entry, page);
    this.#byteCount += page.length;
  }
}
