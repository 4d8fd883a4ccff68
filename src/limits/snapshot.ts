/**
 * What outlives a restart: the used tokens, streaks and bans of keys, in one small file that is replaced as a whole, so
 * that a restart neither refunds a day nor lifts a ban (contract, section 5).
 *
 * The file is one line of JSON with the seal of the logs, so that no flipped bit goes for a number. What is in it, and
 * what is refused, stands in snapshot-line.ts. When it is saved is the service's business.
 */

import { join } from "node:path";

import type { Disk } from "../disk/disk.ts";
import { messageOf, readError } from "../disk/error-message.ts";
import { readWholeFile, replaceFile } from "../disk/replace-file.ts";
import { setFileAside } from "../log/torn-tail.ts";
import type { Limiter } from "./limiter.ts";
import { readSnapshotLine, snapshotLine } from "./snapshot-line.ts";

export interface LimitsSnapshotOptions {
  readonly disk: Disk;
  readonly dataDir: string;
  readonly limiter: Limiter;
  readonly report: (message: string) => void;
}

const fileName = "limits.json";

export class LimitsSnapshot {
  /** How far in the key file unbans have been applied, in bytes; whoever applies them keeps it up to date. */
  keyLogBytes = 0;
  readonly #options: LimitsSnapshotOptions;
  readonly #path: string;
  #savedVersion: string | undefined;
  #isFailing = false;
  #lastSave: Promise<void> = Promise.resolve();
  #waitingSave: Promise<void> | undefined;

  /**
   * Restores the limiter. A file that is damaged is set aside with a warning: then all limits begin anew.
   *
   * @throws {Error} of the disk, where the file is there and cannot be read
   */
  static async open(options: LimitsSnapshotOptions): Promise<LimitsSnapshot> {
    const snapshot = new LimitsSnapshot(options);
    await snapshot.#restore();
    return snapshot;
  }

  private constructor(options: LimitsSnapshotOptions) {
    this.#options = options;
    this.#path = join(options.dataDir, fileName);
  }

  /**
   * Resolves when the state of now, or a later one, is on disk, or could not be brought there. A failure is told once
   * until a save succeeds again; the next call tries anew. Saves never overlap: one runs, and one waits at most.
   */
  save(): Promise<void> {
    this.#waitingSave ??= this.#lastSave = this.#lastSave.then(() => {
      this.#waitingSave = undefined;
      return this.#save();
    });
    return this.#waitingSave;
  }

  async #save(): Promise<void> {
    const { disk, limiter } = this.#options;
    const version = this.#version();
    if (version === this.#savedVersion) {
      return;
    }
    try {
      await replaceFile(disk, this.#path, snapshotLine({ ...limiter.exportState(), keyLogBytes: this.keyLogBytes }));
      this.#savedVersion = version;
      this.#isFailing = false;
    } catch (error) {
      this.#reportFailure(error);
    }
  }

  #reportFailure(error: unknown): void {
    if (!this.#isFailing) {
      this.#isFailing = true;
      try {
        this.#options.report(`warning: the limits cannot be kept, a restart would forget them: ${messageOf(error)}`);
      } catch {
        // A report that fails must not end the saving, and there is nobody else to tell.
      }
    }
  }

  async #restore(): Promise<void> {
    const { disk, limiter, report } = this.#options;
    const bytes = await this.#read();
    if (bytes === undefined) {
      return;
    }
    const state = readSnapshotLine(bytes);
    if (typeof state === "string") {
      const asidePath = await setFileAside(disk, this.#path);
      report(`warning: ${this.#path} ${state} and was moved to ${asidePath}; all limits begin anew`);
      return;
    }
    limiter.restoreState(state);
    this.keyLogBytes = state.keyLogBytes;
    this.#savedVersion = this.#version();
  }

  async #read(): Promise<Buffer | undefined> {
    try {
      return await readWholeFile(this.#options.disk, this.#path);
    } catch (error) {
      throw readError(this.#path, error);
    }
  }

  /** Two that are equal stand for one state. */
  #version(): string {
    return `${this.#options.limiter.changeCount} ${this.keyLogBytes}`;
  }
}
