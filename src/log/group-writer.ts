/**
 * The only writer of a log, with group commit: all items that wait share one append and one fdatasync, and a group is
 * synced before the next one begins.
 */

import { Batcher } from "../base/batcher.ts";
import { messageOf } from "../base/error-message.ts";
import type { Appender, AppendTimes, WriteFailure } from "./appender.ts";
import { type Chunk, createChunk } from "./chunks.ts";

/** What a group consists of. */
export interface GroupOwner<Item, Result> {
  /** Encodes items into `chunk`, from the first on, as many as fit: at least one. */
  encode(waiting: readonly Item[], chunk: Chunk): EncodedGroup<Result>;
  /** The error that `add` rejects with. */
  errorOf(failure: WriteFailure): Error;
}

export interface EncodedGroup<Result> {
  readonly byteCount: number;
  /** One for each encoded item. */
  readonly results: readonly Result[];
  /** Called once the group is on disk, while `chunk` still has it. */
  readonly publish: () => void;
}

/** No group is longer: all are encoded into one buffer of this size. */
export const groupBytesMax = 1_048_576;

export class GroupWriter<Item, Result> {
  readonly #owner: GroupOwner<Item, Result>;
  readonly #appender: Appender;
  readonly #chunk = createChunk(groupBytesMax);
  readonly #onGroup: (times: AppendTimes) => void;
  readonly #batcher = new Batcher<Item, Result>((items) => this.#write(items), {
    concurrency: 1,
    refusal: () => {
      const reason = this.#closed ?? this.#appender.ended;
      return reason === undefined ? undefined : this.#owner.errorOf({ kind: "absent", reason });
    },
  });
  #closed: string | undefined;

  /** @param onGroup called with each group that is on disk; must not throw */
  constructor(owner: GroupOwner<Item, Result>, appender: Appender, onGroup: (times: AppendTimes) => void) {
    this.#owner = owner;
    this.#appender = appender;
    this.#onGroup = onGroup;
  }

  get isWritable(): boolean {
    return this.#closed === undefined && this.#appender.ended === undefined;
  }

  /** Resolves when the item is on disk. Rejects with the owner's error. */
  add(item: Item): Promise<Result> {
    return this.#batcher.add(item);
  }

  /** Resolves when all items are settled, and the file is closed. */
  async close(reason: string): Promise<void> {
    this.#closed ??= reason;
    await this.#batcher.idle();
    await this.#appender.close();
  }

  async #write(items: readonly Item[]): Promise<readonly (Result | Promise<Result>)[]> {
    const { byteCount, results, publish } = this.#owner.encode(items, this.#chunk);
    const outcome = await this.#appender.append(this.#chunk.bytes.subarray(0, byteCount));
    const failure = outcome.kind === "appended" ? this.#publish(publish) : outcome;
    if (outcome.kind === "appended") {
      this.#onGroup(outcome.times);
    }
    return failure === undefined ? results : results.map(() => Promise.reject(this.#owner.errorOf(failure)));
  }

  /** If this fails, memory and file differ, so writing ends: ids could be given twice. */
  #publish(publish: () => void): WriteFailure | undefined {
    try {
      publish();
      return undefined;
    } catch (error) {
      const reason = `a group is on disk but cannot be served (${messageOf(error)})`;
      this.#appender.end(reason);
      return { kind: "unknown", reason };
    }
  }
}
