/**
 * Keeps full pages of one filter, to send them again. Animals are never changed or removed, and new ones come last, so
 * a full page never changes and nothing has to be invalidated. Whether there is a next page does change, and is not
 * kept.
 */

/** Enough for the first pages that clients ask for. */
const pageCountMax = 64;
const pageBytesMax = 1_048_576;

interface KeptPage {
  readonly limit: number;
  readonly json: Uint8Array;
}

export class PageCache {
  /** By the number of matching animals before the page. Only the size that was asked for last is kept. */
  readonly #pages = new Map<number, KeptPage>();
  #byteCount = 0;

  get(first: number, limit: number): Uint8Array | undefined {
    const page = this.#pages.get(first);
    return page?.limit === limit ? page.json : undefined;
  }

  /** Keeps a full page. At a bound all are dropped; those in use are kept again after the next request. */
  keep(first: number, limit: number, json: Uint8Array): void {
    if (this.#pages.size >= pageCountMax || this.#byteCount + json.length > pageBytesMax) {
      this.#pages.clear();
      this.#byteCount = 0;
    }
    this.#byteCount += json.length - (this.#pages.get(first)?.json.length ?? 0);
    this.#pages.set(first, { limit, json });
  }
}
