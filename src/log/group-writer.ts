/**
 * The one writer of the log, with group commit: all appends that wait share one write and one fdatasync, and a group is
 * synced before the next one begins. A group starts a turn of the event loop after its first append came or the group
 * before it ended, so that requests read in one go share it, those of clients just answered too; a lone one waits for
 * nobody.
 *
 * Readers go on meanwhile: the sync is asynchronous, and on a disk that takes its time only it does.
 *
 * When writing fails, what was written of the group is cut off again and the cut synced, or a loss of power could bring
 * back what was refused; the next group is tried again: `storage_unavailable`. Where it cannot be cut off the group's
 * outcome is unknown, and the next group begins with another attempt. When a sync fails nobody knows what is on disk,
 * and a later sync that succeeds would prove nothing (the kernel may have dropped the pages): the group's outcome is
 * unknown, and no write is taken until a restart has read what is there.
 */

import type { DiskFile } from "../disk/disk.ts";
import { OutcomeUnknownError, StorageUnavailableError } from "../pets/pet-store.ts";

/** What a group consists of: the owner's business. */
export interface GroupOwner<Item, Result> {
  /** Encodes items into `bytes`, from the first on, as many as fit: at least one. */
  encode(waiting: readonly { readonly item: Item }[], bytes: Buffer): EncodedGroup<Result>;
  /** The group last encoded is on disk. */
  publish(): void;
}

export interface EncodedGroup<Result> {
  readonly byteCount: number;
  /** One an item that was taken. */
  readonly results: readonly Result[];
}

/** What a group took, in milliseconds. */
export interface GroupTimes {
  readonly appendMs: number;
  readonly syncMs: number;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
}

export interface GroupWriterOptions {
  readonly file: DiskFile;
  /** Bytes in the file, all of them synced. */
  readonly lengthBytes: number;
  readonly report: (message: string) => void;
  readonly onGroup?: ((times: GroupTimes) => void) | undefined;
  /** What has to succeed before the first group is written: tried before each one until it has. */
  readonly prepare?: (() => Promise<void>) | undefined;
}

/** A group is written from one buffer of this size. */
export const groupBytesMax = 1_048_576;

export class GroupWriter<Item, Result> {
  readonly #owner: GroupOwner<Item, Result>;
  readonly #options: GroupWriterOptions;
  readonly #bytes = Buffer.allocUnsafeSlow(groupBytesMax);
  #lengthBytes: number;
  #queue: Waiting<Item, Result>[] = [];
  /** Undefined while nothing is being written. */
  #running: Promise<void> | undefined;
  /** Why no write is taken any more. */
  #ended: string | undefined;
  /** So many bytes of a group that failed may stand behind `lengthBytes` and have to be cut off first. */
  #halfGroupBytesMax = 0;
  #prepare: (() => Promise<void>) | undefined;
  /** The failure that lasts has been reported. */
  #isFailing = false;

  constructor(owner: GroupOwner<Item, Result>, options: GroupWriterOptions) {
    this.#owner = owner;
    this.#options = options;
    this.#lengthBytes = options.lengthBytes;
    this.#prepare = options.prepare;
  }

  get lengthBytes(): number {
    return this.#lengthBytes;
  }

  get isWritable(): boolean {
    return this.#ended === undefined;
  }

  /** Resolves when the item is on disk. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(new StorageUnavailableError(this.#ended));
        return;
      }
      this.#queue.push({ item, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Takes no more; resolves when all that was taken is decided. */
  async end(reason: string): Promise<void> {
    this.#ended ??= reason;
    await this.#running;
  }

  async #run(): Promise<void> {
    for (await turn(); this.#queue.length > 0; await turn()) {
      await this.#writeGroup();
    }
    this.#running = undefined;
  }

  async #writeGroup(): Promise<void> {
    const { byteCount, results } = this.#owner.encode(this.#queue, this.#bytes);
    const group = this.#queue;
    this.#queue = group.splice(results.length);
    const failure = await this.#commit(this.#bytes.subarray(0, byteCount));
    for (let index = 0; index < group.length; index++) {
      const { resolve, reject } = group[index]!; // below its length
      const result = results[index];
      if (failure === undefined && result !== undefined) {
        resolve(result);
      } else {
        reject(failure ?? new Error("Cannot match the group's results to its items"));
      }
    }
  }

  /** Resolves to why the group is not known to be on disk. */
  async #commit(bytes: Uint8Array): Promise<Error | undefined> {
    const { onGroup } = this.#options;
    const startMs = performance.now();
    const failure = await this.#append(bytes);
    if (failure !== undefined) {
      return failure;
    }
    const appendedMs = performance.now();
    try {
      await this.#sync();
    } catch (error) {
      return new OutcomeUnknownError(messageOf(error));
    }
    this.#lengthBytes += bytes.length;
    this.#owner.publish();
    if (this.#isFailing) {
      this.#isFailing = false;
      this.#options.report("the log can be written again");
    }
    onGroup?.({ appendMs: appendedMs - startMs, syncMs: performance.now() - appendedMs });
    return undefined;
  }

  /** Resolves to why the group is not in the file. */
  async #append(bytes: Uint8Array): Promise<Error | undefined> {
    let hasBegun = false;
    try {
      await this.#makeReady();
      hasBegun = true;
      this.#halfGroupBytesMax = bytes.length;
      const writtenCount = await this.#options.file.append(bytes);
      if (writtenCount !== bytes.length) {
        throw new Error(`only ${writtenCount} of ${bytes.length} bytes could be written; the disk may be full`);
      }
      this.#halfGroupBytesMax = 0;
      return undefined;
    } catch (error) {
      const reason = `the log cannot be written: ${messageOf(error)}`;
      if (!this.#isFailing) {
        this.#isFailing = true;
        this.#options.report(`${reason}; animals cannot be added meanwhile`);
      }
      // What may stand behind the sound part when this group has not begun is an earlier one's.
      const isAbsent = !hasBegun || (await this.#isHalfGroupCut());
      return isAbsent ? new StorageUnavailableError(reason) : new OutcomeUnknownError(reason);
    }
  }

  async #makeReady(): Promise<void> {
    await this.#prepare?.();
    this.#prepare = undefined;
    await this.#cutHalfGroup();
    const foundBytes = this.#options.file.size();
    if (foundBytes !== this.#lengthBytes) {
      this.#end(`the log has ${foundBytes} bytes instead of ${this.#lengthBytes}: another hand has written to it`);
      throw new Error("another hand has written to it");
    }
  }

  async #isHalfGroupCut(): Promise<boolean> {
    try {
      await this.#cutHalfGroup();
      return true;
    } catch {
      return false; // Why the group failed has been reported; the next one tries again, before it writes.
    }
  }

  async #cutHalfGroup(): Promise<void> {
    const { file } = this.#options;
    const excessBytes = this.#halfGroupBytesMax > 0 ? file.size() - this.#lengthBytes : 0;
    // More than the group had is another hand's, and not for us to cut.
    if (excessBytes > 0 && excessBytes <= this.#halfGroupBytesMax) {
      await file.truncate(this.#lengthBytes);
      await this.#sync();
    }
    this.#halfGroupBytesMax = 0;
  }

  async #sync(): Promise<void> {
    try {
      await this.#options.file.sync();
    } catch (error) {
      this.#end(`a sync of the log failed (${messageOf(error)}), so nothing more is written until a restart`);
      throw error;
    }
  }

  #end(reason: string): void {
    this.#ended = reason;
    this.#isFailing = true; // Said once.
    this.#options.report(reason);
    const waiting = this.#queue;
    this.#queue = [];
    waiting.forEach(({ reject }) => reject(new StorageUnavailableError(reason)));
  }
}

/** Resolves when the sockets have been read once: an immediate set by an immediate runs behind the next poll. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
