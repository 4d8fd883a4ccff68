/**
 * The end of a log as a start read it: its last group, and the torn tail after it, if a crash left one. Before the
 * first write the torn tail is set aside, and the last group written again. On a full disk that has to wait, perhaps
 * for hours, and the file may be replaced meanwhile: ask `isUnchanged` first.
 */

import { dirname } from "node:path";

import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import type { Disk, DiskFile } from "../disk/disk.ts";
import { appendAll, readBytes } from "../disk/file-bytes.ts";

export interface TailOptions {
  readonly disk: Disk;
  readonly path: string;
  readonly file: DiskFile;
  /** The length of the intact part. */
  readonly lengthBytes: number;
  /** What follows the intact part, also in words. Undefined if nothing does. */
  readonly torn: { readonly bytes: number; readonly text: string } | undefined;
  readonly groupBytesMax: number;
  readonly report: Report;
}

export class Tail {
  readonly #options: TailOptions;
  readonly #position: number;
  readonly #lastGroup: Buffer;
  #torn: Buffer;

  private constructor(options: TailOptions, position: number, bytes: Buffer) {
    this.#options = options;
    this.#position = position;
    this.#lastGroup = bytes.subarray(0, options.lengthBytes - position);
    this.#torn = bytes.subarray(this.#lastGroup.length);
  }

  /** Resolves to undefined if the file is empty. */
  static async read(options: TailOptions): Promise<Tail | undefined> {
    const { file, lengthBytes, groupBytesMax, torn } = options;
    const position = Math.max(lengthBytes - groupBytesMax, 0); // No group is longer, so this includes the last one.
    const bytes = await readBytes(file, lengthBytes + (torn?.bytes ?? 0) - position, position);
    return bytes.length === 0 ? undefined : new Tail(options, position, bytes);
  }

  /** How many bytes of the torn tail have not been set aside yet. */
  get tornBytes(): number {
    return this.#torn.length;
  }

  /** Whether the file still ends in the bytes that were read, except for a torn tail that was set aside. */
  async isUnchanged(): Promise<boolean> {
    const expected = Buffer.concat([this.#lastGroup, this.#torn]);
    return (await readBytes(this.#options.file, expected.length, this.#position)).equals(expected);
  }

  /**
   * Appends the torn tail to `PATH.torn`. When this resolves, it is on disk there, and may be cut off the log. If it
   * fails it is undone, so that attempts on a full disk take no space.
   */
  async quarantine(): Promise<void> {
    const { path, torn, report } = this.#options;
    if (torn === undefined || this.#torn.length === 0) {
      return;
    }
    const asidePath = `${path}.torn`;
    await this.#appendTo(asidePath).catch((error: unknown) => {
      throw new Error(`${torn.text}; it cannot be moved (${messageOf(error)})`, { cause: error });
    });
    this.#torn = Buffer.alloc(0);
    report(`${torn.text}; it was moved to ${asidePath}, and the rest is served`, "warning");
  }

  async #appendTo(asidePath: string): Promise<void> {
    const { disk } = this.#options;
    const aside = await disk.openToAppend(asidePath);
    try {
      const sizeBefore = aside.size();
      try {
        await appendAll(aside, this.#torn);
        await aside.sync();
        await disk.syncFolder(dirname(asidePath));
      } catch (error) {
        const undoing = sizeBefore === 0 ? disk.remove(asidePath) : aside.truncate(sizeBefore);
        await undoing.catch(() => undefined); // The first failure is the one to report.
        throw error;
      }
    } finally {
      await aside.close();
    }
  }

  /**
   * Writes the last group over itself. Not durable before a sync.
   *
   * A failed sync leaves its bytes in the kernel's memory, marked as written, and later syncs skip them (PostgreSQL's
   * "fsyncgate"). A process that opens a log cannot know whether that happened to the last group, and an intact line
   * after a hole would look like corruption. Bytes that are written again belong to the next sync.
   */
  async rewrite(): Promise<void> {
    if (this.#lastGroup.length > 0) {
      await this.#options.file.overwrite(this.#lastGroup, this.#position);
    }
  }
}
