/**
 * All items that wait go into one statement. A batch begins a turn of the event loop after its first item, so that
 * requests which were read together share it.
 */

import { setImmediate } from "node:timers";

import type { MaybePromise } from "../base/when-ready.ts";
import { StorageUnavailableError } from "../pets/pet-store.ts";

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: MaybePromise<Result>) => void;
  readonly reject: (error: unknown) => void;
}

/** Returns a result for each item, which may come later than the batch ends. If it rejects, all of its items do. */
type Run<Item, Result> = (items: readonly Item[]) => Promise<readonly MaybePromise<Result>[]>;

export interface BatcherOptions<Item> {
  /** Batches under way at a time. */
  readonly concurrency: number;
  /** The largest sum of sizes in a batch, by default 1 for each item. A larger item has a batch of its own. */
  readonly sizeMax: () => number;
  readonly sizeOf?: (item: Item) => number;
  /** If not, items are refused at once: the batch under way may wait for a while. */
  readonly isAvailable: () => boolean;
}

/** Items that wait at most: while the database is slow, each request takes about 4 kB. */
export const waitingMax = 10_000;

export class Batcher<Item, Result> {
  readonly #run: Run<Item, Result>;
  readonly #options: BatcherOptions<Item>;
  #queue: Waiting<Item, Result>[] = [];
  #idleCount: number;

  constructor(run: Run<Item, Result>, options: BatcherOptions<Item>) {
    this.#run = run;
    this.#options = options;
    this.#idleCount = options.concurrency;
  }

  /** @throws {StorageUnavailableError} too many items wait, or nothing works */
  add(item: Item): Promise<Result> {
    if (!this.#options.isAvailable()) {
      return Promise.reject(new StorageUnavailableError("the database cannot be reached"));
    }
    if (this.#queue.length >= waitingMax) {
      return Promise.reject(new StorageUnavailableError("too many requests wait for the database"));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      if (this.#idleCount > 0) {
        this.#idleCount--;
        setImmediate(() => void this.#runLane());
      }
    });
  }

  async #runLane(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, this.#nextCount());
      try {
        const results = await this.#run(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => resolve(results[index]!)); // One for each item.
      } catch (error) {
        batch.forEach(({ reject }) => reject(error));
      }
    }
    this.#idleCount++;
  }

  #nextCount(): number {
    const { sizeMax, sizeOf = () => 1 } = this.#options;
    let size = 0;
    const end = this.#queue.findIndex(({ item }) => (size += sizeOf(item)) > sizeMax());
    return end === -1 ? this.#queue.length : Math.max(end, 1);
  }
}
