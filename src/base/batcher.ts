/**
 * Collects waiting items into batches, such as a statement to a database or a group of a log. A batch begins once the
 * sockets have been read after its first item came, so that requests which arrived together share it.
 */

import { setImmediate } from "node:timers";

import type { MaybePromise } from "./when-ready.ts";

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: MaybePromise<Result>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Processes the first items, at least one, and returns a result for each; the others stay in the queue. A result may be
 * a promise that settles after the batch has ended. If the run rejects, so do all of its items.
 */
type Run<Item, Result> = (items: readonly Item[]) => Promise<readonly MaybePromise<Result>[]>;

export interface BatcherOptions<Item> {
  /** Batches under way at a time. */
  readonly concurrency: number;
  /** The largest sum of sizes in a batch, by default 1 for each item. A larger item has a batch of its own. */
  readonly sizeMax?: () => number;
  readonly sizeOf?: (item: Item) => number;
  /** The error that refuses a new item at once, given how many wait already. */
  readonly refusal: (waitingCount: number) => Error | undefined;
}

export class Batcher<Item, Result> {
  readonly #run: Run<Item, Result>;
  readonly #options: BatcherOptions<Item>;
  #queue: Waiting<Item, Result>[] = [];
  #runCount = 0;
  /** Resolves when all runs that have begun have ended. */
  #runs: Promise<unknown> = Promise.resolve();

  constructor(run: Run<Item, Result>, options: BatcherOptions<Item>) {
    this.#run = run;
    this.#options = options;
  }

  /** @throws {Error} the refusal, or what the batch rejects with */
  add(item: Item): Promise<Result> {
    const refusal = this.#options.refusal(this.#queue.length);
    if (refusal !== undefined) {
      return Promise.reject(refusal);
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      if (this.#runCount < this.#options.concurrency) {
        this.#runs = Promise.all([this.#runs, this.#runBatches()]).then(() => undefined);
      }
    });
  }

  /** Resolves when nothing waits or is under way. */
  async idle(): Promise<void> {
    await this.#runs;
  }

  /** Never rejects: a failed run rejects its items. */
  async #runBatches(): Promise<void> {
    this.#runCount++;
    for (await turn(); this.#queue.length > 0; await turn()) {
      const batch = this.#queue.splice(0, this.#nextCount());
      try {
        const results = await this.#run(batch.map(({ item }) => item));
        this.#queue = [...batch.splice(results.length), ...this.#queue]; // Too many for the arguments of unshift.
        batch.forEach(({ resolve }, index) => resolve(results[index]!)); // One for each item.
      } catch (error) {
        batch.forEach(({ reject }) => reject(error));
      }
    }
    this.#runCount--; // Without an await since the queue was empty: the next item must begin a run.
  }

  #nextCount(): number {
    const { sizeMax = () => Infinity, sizeOf = () => 1 } = this.#options;
    let size = 0;
    const end = this.#queue.findIndex(({ item }) => (size += sizeOf(item)) > sizeMax());
    return end === -1 ? this.#queue.length : Math.max(end, 1);
  }
}

/** Resolves when the sockets have been read once: an immediate set by an immediate runs after the next poll. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}
