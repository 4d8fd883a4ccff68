/**
 * Follows keys.jsonl, to which commands and servers append at any time, each under the file's lock.
 *
 * The file is read whenever its size or time has changed. A server reads under the lock too: the line of a write that
 * is under way may be taken back, and a server must not apply it. What continues the lines applied so far is applied.
 * All else is judged once the file has not changed for a while, because a copy in progress is a part of a file. If
 * another file is sound, the keys are read from it again; of damage, keys known so far go on working.
 *
 * An event is decided and appended under the lock, after the lines of others have been read.
 */

import { join } from "node:path";

import type { Clock } from "../base/clock.ts";
import type { Disk, FileStatus } from "../disk/disk.ts";
import { messageOf, readError } from "../base/error-message.ts";
import { checkWhole } from "../disk/whole-folder.ts";
import { readWholeFile } from "../disk/replace-file.ts";
import { appendKeyLine } from "./append-key-line.ts";
import { encodeKeyEvent } from "./key-line.ts";
import { KeyLog } from "./key-log.ts";
import { applyKeyLines, type KeyFault } from "./key-reader.ts";
import { KeyError, type KeyEvent, type Relief } from "./key.ts";
import { Keyring } from "./keyring.ts";

export interface KeyFileOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly dataDir: string;
  /** Receives one line for the operator, never with a secret. */
  readonly report: (message: string) => void;
  /** Whether reading takes the lock too, which needs the right to write in the folder. A server must. */
  readonly locksReads?: boolean;
  /** Called for each unban and reset that is read. */
  readonly onRelief?: (event: Relief) => void;
}

export const keyFileName = "keys.jsonl";

/** How the file was at the last look. */
interface Look {
  /** Undefined if there was none. */
  readonly status: FileStatus | undefined;
  /** Monotonic: when this status was first seen. */
  readonly sinceMs: number;
  /** Whether every later change of the file gives it another status. */
  readonly isSettled: boolean;
  readonly fault: KeyFault | undefined;
}

const replacedText = "was replaced or changed by another program";

/** More than a tick of any file system's clock: two changes within one tick may leave the same time. */
const tickMsMax = 100;

/** A holder of the lock writes one line and syncs it. On a slow disk that takes a while; a stopped process for ever. */
const holderWaitMs = 10_000;

export class KeyFile extends KeyLog {
  readonly keyring: Keyring;
  readonly #options: KeyFileOptions;
  readonly #path: string;
  /** The lines that have been applied. */
  #applied: Buffer = Buffer.alloc(0);
  #exists = false;
  #last: Look = { status: undefined, sinceMs: -Infinity, isSettled: true, fault: undefined };
  /** The fault reported last. */
  #reported: string | undefined;

  private constructor(options: KeyFileOptions) {
    super();
    this.#options = options;
    this.#path = join(options.dataDir, keyFileName);
    this.keyring = new Keyring({ clock: options.clock });
  }

  /**
   * Reads the file. If there is none, there are no keys. A crash while the first key was made leaves an empty or torn
   * one: that is reported too.
   *
   * @throws {KeyError} `key_file_damaged`: a revocation may have been lost, so no key may work
   * @throws {Error} an export into the folder was not finished
   */
  static async open(options: KeyFileOptions): Promise<KeyFile> {
    await checkWhole(options.disk, options.dataDir);
    const file = new KeyFile(options);
    const fault = await file.#readChange(holderWaitMs).catch((error: unknown) => {
      throw readError(file.#path, error);
    });
    if (fault?.kind === "corrupt") {
      throw new KeyError("key_file_damaged", `Cannot read keys: ${file.#path} ${fault.text}`);
    }
    if (file.exists && file.#applied.length === 0) {
      file.#reported = fault?.text;
      options.report(`${file.#path} ${fault?.text ?? "is empty"}; there are no keys until one is made`);
    } else if (fault !== undefined) {
      file.#reportOnce(fault.text, "the last change of a key has no effect");
    }
    return file;
  }

  /** Whether the file has existed at any look. */
  get exists(): boolean {
    return this.#exists;
  }

  /** @throws {KeyError} `key_file_damaged` @throws {Error} the text says whether the change may have been made */
  async append(decide: () => KeyEvent | undefined): Promise<void> {
    await this.#options.disk.makeFolder(this.#options.dataDir);
    await this.#underLock(holderWaitMs, async () => {
      const fault = await this.#read();
      // The writer of an unfinished line is dead.
      if (fault !== undefined && fault.kind !== "torn") {
        throw new KeyError("key_file_damaged", `Cannot change keys: ${this.#path} ${fault.text}`);
      }
      const event = decide();
      const line = Buffer.from(event === undefined ? "" : encodeKeyEvent(event));
      const place = { path: this.#path, lengthBytes: this.#applied.length, isTorn: fault !== undefined };
      await appendKeyLine(line, place, this.#options);
      return this.#applyRest(Buffer.concat([this.#applied, line]));
    });
  }

  protected override async look(isPatient: boolean): Promise<void> {
    try {
      const fault = await this.#readChange(isPatient ? holderWaitMs : 0);
      if (fault !== undefined && this.#last.isSettled) {
        this.#reportOnce(fault.text);
      } else if (fault === undefined && this.#reported !== undefined) {
        this.#reported = undefined;
        this.#options.report(`${this.#path} can be read again`);
      }
    } catch (error) {
      this.#reportOnce(`cannot be read: ${messageOf(error)}`);
    }
  }

  #reportOnce(fault: string, effect = "keys known so far go on working"): void {
    if (this.#reported !== fault) {
      this.#reported = fault;
      this.#options.report(`${this.#path} ${fault}; ${effect}`);
    }
  }

  /** Reads the file if it has changed. Resolves to what is wrong with it. */
  async #readChange(lockWaitMs: number): Promise<KeyFault | undefined> {
    const { disk, locksReads = false } = this.#options;
    const { status, isSettled, fault } = this.#last;
    if (isSettled && isSame(status, await disk.status(this.#path))) {
      return fault;
    }
    return locksReads ? this.#underLock(lockWaitMs, () => this.#read()) : this.#read();
  }

  /**
   * Resolves to the fault known so far if another process holds the lock and `waitMs` is 0.
   *
   * @throws {Error} another process holds the lock that long
   */
  async #underLock(waitMs: number, work: () => Promise<KeyFault | undefined>): Promise<KeyFault | undefined> {
    const lock = await this.#options.disk.lock(`${this.#path}.lock`, waitMs);
    if (lock === undefined && waitMs === 0) {
      return this.#last.fault;
    }
    if (lock === undefined) {
      throw new Error(`Cannot lock ${this.#path}: another process has held the lock for ${waitMs / 1_000} s`);
    }
    try {
      return await work();
    } finally {
      await lock.release();
    }
  }

  async #read(): Promise<KeyFault | undefined> {
    const { disk, clock } = this.#options;
    const beginMs = clock.monotonicMs();
    const status = await disk.status(this.#path);
    const sinceMs = isSame(status, this.#last.status) ? this.#last.sinceMs : clock.monotonicMs();
    const isSettled = beginMs - sinceMs >= tickMsMax;
    const content = await readWholeFile(disk, this.#path);
    // Who rewrites a file begins at its start. So if that is still the same now, the end is not that of another file.
    const contentLater = await readWholeFile(disk, this.#path);
    this.#exists ||= content !== undefined;
    const fault = this.#isContinued(content) && this.#isContinued(contentLater)
      ? await this.#applyRest(content ?? this.#applied)
      : await this.#judge(contentLater, isSettled);
    this.#last = { status, sinceMs, isSettled, fault };
    return fault;
  }

  #isContinued(content: Buffer | undefined): boolean {
    const applied = this.#applied;
    return applied.length === 0 || content?.subarray(0, applied.length).equals(applied) === true;
  }

  async #applyRest(content: Buffer): Promise<KeyFault | undefined> {
    const { length } = this.#applied;
    const { lengthBytes, fault } = await applyKeyLines(content, length, this.keyring, this.#options.onRelief);
    this.#applied = content.subarray(0, lengthBytes);
    return fault;
  }

  /** Takes the keys of another file over, if it is sound and has not changed for a while. */
  async #judge(content: Buffer | undefined, isSettled: boolean): Promise<KeyFault | undefined> {
    const { clock, onRelief, report } = this.#options;
    if (content === undefined || !isSettled) {
      return { kind: "replaced", text: content === undefined ? "was removed" : replacedText };
    }
    const ring = new Keyring({ clock });
    const reliefs: Relief[] = [];
    const { fault } = await applyKeyLines(content, 0, ring, (event) => reliefs.push(event));
    if (fault !== undefined || content.length === 0) {
      return { kind: "replaced", text: `${replacedText}, and ${fault?.text ?? "is empty"}` };
    }
    // Not those before: requests may have been used, or a ban set, since.
    const later = reliefs.filter(({ id, timeMs }) => {
      const { unbannedMs = 0, resetMs = 0 } = this.keyring.get(id) ?? {};
      return timeMs > Math.max(unbannedMs, resetMs);
    });
    this.keyring.takeOver(ring);
    this.#applied = content;
    this.#reported = undefined;
    report(`${this.#path} ${replacedText}; all keys were read from it again`);
    later.forEach((event) => onRelief?.(event));
    return undefined;
  }
}

function isSame(status: FileStatus | undefined, other: FileStatus | undefined): boolean {
  return status?.size === other?.size && status?.modifiedMs === other?.modifiedMs;
}
