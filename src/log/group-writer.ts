/**
 * The only writer of a log, with group commit: all items that wait share one append and one fdatasync, and a group is
 * synced before the next one begins. A group begins one turn of the event loop after its first item came or the group
 * before it ended, so that requests which were read together share it.
 */

import { setImmediate } from "node:timers";

import { messageOf } from "../base/error-message.ts";
import type { Appender, AppendTimes, WriteFailure } from "./appender.ts";
import { type Chunk, createChunk } from "./chunks.ts";

/** What a group consists of. */
export interface GroupOwner<Item, Result> {
  /** Encodes items into `chunk`, from the first on, as many as fit: at least one. */
  encode(waiting: readonly { readonly item: Item }[], chunk: Chunk): EncodedGroup<Result>;
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

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** No group is longer: all are encoded into one buffer of this size. */
export const groupBytesMax = 1_048_576;

export class GroupWriter<Item, Result> {
  readonly #owner: GroupOwner<Item, Result>;
  readonly #appender: Appender;
  readonly #chunk = createChunk(groupBytesMax);
  readonly #onGroup: (times: AppendTimes) => void;
  #queue: Waiting<Item, Result>[] = [];
  /** Undefined while nothing is being written. */
  #running: Promise<void> | undefined;
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

  /** Resolves when the item is on disk. Rejects with an error of the owner's. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const reason = this.#closed ?? this.#appender.ended;
      if (reason !== undefined) {
        reject(this.#owner.errorOf({ kind: "absent", reason }));
        return;
      }
      this.#queue.push({ item, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when all items are settled, and the file is closed. */
  async close(reason: string): Promise<void> {
    this.#closed ??= reason;
    await this.#running;
    await this.#appender.close();
  }

  async #run(): Promise<void> {
    for (await turn(); this.#queue.length > 0; await turn()) {
      await this.#writeGroup();
    }
    this.#running = undefined;
  }

  /** Never rejects: callers would wait for ever. */
  async #writeGroup(): Promise<void> {
    const group = this.#queue;
    this.#queue = [];
    let encoded: EncodedGroup<Result>;
    try {
      encoded = this.#owner.encode(group, this.#chunk);
    } catch (error) {
      group.forEach(({ reject }) => reject(error));
      return;
    }
    const { byteCount, results, publish } = encoded;
    this.#queue = group.splice(results.length);
    const outcome = await this.#appender.append(this.#chunk.bytes.subarray(0, byteCount));
    const failure = outcome.kind === "appended" ? this.#publish(publish) : outcome;
    if (failure !== undefined) {
      const error = this.#owner.errorOf(failure);
      group.forEach(({ reject }) => reject(error));
    } else {
      group.forEach(({ resolve }, index) => resolve(results[index]!)); // One for each item.
    }
    if (outcome.kind === "appended") {
      this.#onGroup(outcome.times);
    }
  }

  /** If it fails, memory and file differ, and ids could be given twice. */
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

/** Resolves when the sockets have been read once: an immediate set by an immediate runs after the next poll. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}
