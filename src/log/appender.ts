/**
 * Appends to the end of a log, one durable piece after the other. Each piece is on disk when `append` resolves, or it
 * is absent, or its outcome is unknown:
 *
 * - If writing fails, what was written is cut off and the cut is synced, since a loss of power could bring it back. The
 *   piece is absent. If the cut fails, its outcome is unknown, and the next piece begins with another cut.
 * - If a sync fails, the outcome is unknown, and nothing more is written: the kernel may have dropped the pages, so a
 *   later sync that succeeds proves nothing. Nothing is cut off: another process may have read the piece.
 * - If another process changed the file's length, or its path leads to another file, nothing more is written.
 */

import { clearTimeout, setTimeout } from "node:timers";

import { type Clock, systemClock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import type { Report } from "../base/report.ts";
import { SerialQueue } from "../base/serial-queue.ts";
import type { DiskFile } from "../disk/disk.ts";
import { appendAll } from "../disk/file-bytes.ts";

/** "absent": the piece is not in the log. "unknown": it may be. */
export interface WriteFailure {
  readonly kind: "absent" | "unknown";
  readonly reason: string;
}

export type AppendOutcome = { readonly kind: "appended"; readonly times: AppendTimes } | WriteFailure;

export interface AppendTimes {
  readonly appendMs: number;
  readonly syncMs: number;
}

export interface AppenderOptions {
  readonly file: DiskFile;
  readonly path: string;
  /** Of the file, all of which is intact and durable. */
  readonly lengthBytes: number;
  readonly report: Report;
  readonly clock?: Clock | undefined;
}

/**
 * How long a check of the file stays valid, if nothing fails meanwhile: the check after a piece is then also the one
 * before the next, which saves a call of the file system. Later, the file is checked again: if another process has
 * written to it, we must not append, because no start accepts foreign bytes in the middle of the file.
 */
const lookMsMax = 100;

/** Failures and recoveries are reported at most so often: on a full disk a small piece still fits now and then. */
const reportMsMin = 10_000;

const otherProcess = "another process modified or replaced it";

export class Appender {
  readonly #file: DiskFile;
  readonly #path: string;
  readonly #report: Report;
  readonly #clock: Clock;
  /** The length of the pieces that are on disk. Changed here only, as are the next two. */
  lengthBytes: number;
  /** Why nothing more is written; undefined while writing is possible. */
  ended: string | undefined;
  /** Whether the last attempt to write failed. */
  isFailing = false;
  /** At most so many bytes of a failed piece may follow `lengthBytes`. They are cut before the next piece. */
  #excessBytesMax = 0;
  /** When the file was last checked. */
  #lookedMs = -Infinity;
  /** What was reported last, and when. */
  #isReportedFailing = false;
  #reportedMs = -Infinity;
  /** Waits until the next report may be made. */
  #reportTimer: NodeJS.Timeout | undefined = undefined;
  /** Separates writes from checks, which would find a part of the piece during a write. */
  readonly #queue = new SerialQueue();

  constructor(options: AppenderOptions) {
    this.#file = options.file;
    this.#path = options.path;
    this.#report = options.report;
    this.#clock = options.clock ?? systemClock;
    this.lengthBytes = options.lengthBytes;
  }

  /** Never rejects. */
  append(bytes: Uint8Array): Promise<AppendOutcome> {
    return this.#queue.run(() => this.#append(bytes));
  }

  async #append(bytes: Uint8Array): Promise<AppendOutcome> {
    const startMs = this.#clock.monotonicMs();
    const failure = await this.#write(bytes);
    if (failure !== undefined) {
      return failure;
    }
    const writtenMs = this.#clock.monotonicMs();
    try {
      await this.#sync();
      await this.#mustBeUnchanged(this.lengthBytes + bytes.length);
    } catch (error) {
      this.#lookedMs = -Infinity;
      if (this.ended !== undefined) {
        return { kind: "unknown", reason: messageOf(error) };
      }
      // The piece is on disk, and a failed check does not prove another process. The next piece begins with a check.
    }
    this.lengthBytes += bytes.length;
    this.#noteFailing(false, `${this.#path} can be written again`);
    const times = { appendMs: writtenMs - startMs, syncMs: this.#clock.monotonicMs() - writtenMs };
    return { kind: "appended", times };
  }

  end(reason: string): void {
    if (this.ended === undefined) {
      this.ended = reason;
      this.#report(`${reason}; nothing more is written until a restart, which serves only what is there`, "warning");
    }
  }

  /** Reports, and ends writing, if another process has changed the file since the last piece. Never rejects. */
  checkUnchanged(): Promise<void> {
    return this.#queue.run(async () => {
      try {
        await this.#mustBeUnchanged(this.lengthBytes, this.#excessBytesMax);
      } catch (error) {
        if (this.ended === undefined) {
          this.#report(messageOf(error), "warning"); // The check itself failed.
        }
      }
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#reportTimer);
    await this.checkUnchanged();
    await this.#file.close();
  }

  async #write(bytes: Uint8Array): Promise<WriteFailure | undefined> {
    if (this.ended !== undefined) {
      return { kind: "absent", reason: this.ended };
    }
    let hasBegun = false;
    try {
      await this.#cutExcess();
      if (this.#clock.monotonicMs() - this.#lookedMs > lookMsMax) {
        await this.#mustBeUnchanged(this.lengthBytes);
      }
      hasBegun = true;
      this.#excessBytesMax = bytes.length;
      await appendAll(this.#file, bytes);
      this.#excessBytesMax = 0;
      return undefined;
    } catch (error) {
      this.#lookedMs = -Infinity;
      const reason = this.ended ?? `${this.#path} cannot be written: ${messageOf(error)}`;
      if (this.ended === undefined) {
        this.#noteFailing(true, `${reason}; nothing can be added until writing works again`);
      }
      // If this piece has not begun, the bytes after the intact part belong to an earlier one. A cut that fails is
      // tried again before the next piece.
      const isAbsent = !hasBegun || (await this.#cutExcess().then(() => true, () => false));
      return { kind: isAbsent ? "absent" : "unknown", reason };
    }
  }

  #noteFailing(isFailing: boolean, message: string): void {
    this.isFailing = isFailing;
    clearTimeout(this.#reportTimer);
    if (isFailing === this.#isReportedFailing) {
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    const waitMs = this.#reportedMs + reportMsMin - nowMs;
    if (waitMs > 0) { // Perhaps nobody writes for a day, and the log's last word must be true.
      this.#reportTimer = setTimeout(() => this.#noteFailing(isFailing, message), waitMs).unref();
      return;
    }
    this.#isReportedFailing = isFailing;
    this.#reportedMs = nowMs;
    this.#report(message, isFailing ? "warning" : "info");
  }

  /** Throws if another process changed the file. What is written to a file without a path is lost at the next start. */
  async #mustBeUnchanged(expectedBytes: number, excessBytesMax = 0): Promise<void> {
    const { isInPlace, byteCount: foundBytes } = await this.#file.stat();
    if (!isInPlace) {
      throw this.#ending(`${this.#path} leads to another file or to none: ${otherProcess}`);
    }
    if (foundBytes < expectedBytes || foundBytes > expectedBytes + excessBytesMax) {
      const difference = `${pluralize(foundBytes, "byte")} instead of ${expectedBytes}`;
      throw this.#ending(`${this.#path} has ${difference}: ${otherProcess}`);
    }
    this.#lookedMs = this.#clock.monotonicMs();
  }

  async #cutExcess(): Promise<void> {
    const excessBytes = this.#excessBytesMax > 0 ? (await this.#file.stat()).byteCount - this.lengthBytes : 0;
    if (excessBytes > this.#excessBytesMax) {
      // Another process wrote some of them, perhaps behind a part of the piece: all of them stay.
      throw this.#ending(`${this.#path} has ${pluralize(excessBytes, "byte")} more than it should: ${otherProcess}`);
    }
    if (excessBytes > 0) {
      await this.#file.truncate(this.lengthBytes);
      await this.#sync();
    }
    this.#excessBytesMax = 0;
  }

  async #sync(): Promise<void> {
    try {
      await this.#file.sync();
    } catch (error) {
      throw this.#ending(`a sync of ${this.#path} failed (${messageOf(error)})`);
    }
  }

  #ending(reason: string): Error {
    this.end(reason);
    return new Error(reason);
  }
}
