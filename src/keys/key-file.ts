/**
 * Follows keys.jsonl, to which commands and servers append at any time, each under the file's lock.
 *
 * What continues the lines applied so far is applied. All else is judged once the file has not changed for a while,
 * because a copy in progress is a part of a file. If another file is sound, the keys are read from it again. Otherwise
 * keys known so far go on working.
 */

import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { readError } from "../disk/file-errors.ts";
import type { Disk, FileStatus } from "../disk/disk.ts";
import { readWholeFile } from "../disk/replace-file.ts";
import { checkWhole } from "../disk/whole-folder.ts";
import { Appender } from "../log/appender.ts";
import { lineBytesMax } from "../log/reader.ts";
import { Tail } from "../log/tail.ts";
import { applyKeyLines, encodeKeyEvent, type FileFault } from "./key-line.ts";
import { KeyLog } from "./key-log.ts";
import { KeyError, type KeyEvent, type Relief } from "./key.ts";
import { Keyring } from "./keyring.ts";

export interface KeyFileOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly dataDir: string;
  /** Receives one line for the operator, never with a secret. */
  readonly report: (message: string) => void;
  /** Whether reading takes the lock too. A server must: the line of a write that is under way may be taken back. */
  readonly locksReads?: boolean;
  /** Called for each unban and reset that is read. */
  readonly onRelief?: (event: Relief) => void;
}

export const keyFileName = "keys.jsonl";

/** How the file was at the last look. */
interface Look {
  readonly status: FileStatus | undefined;
  /** Monotonic: when this status was first seen. */
  readonly sinceMs: number;
  /** Whether every later change of the file gives it another status. */
  readonly isSettled: boolean;
  readonly fault: FileFault | undefined;
}

const replacedText = "was replaced or changed by another program";

/** More than a tick of any file system's clock: two changes within one tick may leave the same time. */
const tickMsMax = 100;

/** A holder of the lock writes one line and syncs it, unless its process is stopped. */
const holderWaitMs = 10_000;

export class KeyFile extends KeyLog {
  readonly keyring: Keyring;
  /** Whether the file has existed at any look. */
  exists = false;
  readonly #options: KeyFileOptions;
  readonly #path: string;
  /** The lines that have been applied. */
  #applied: Buffer = Buffer.alloc(0);
  #last: Look = { status: undefined, sinceMs: -Infinity, isSettled: true, fault: undefined };
  #reported: string | undefined;

  private constructor(options: KeyFileOptions) {
    super();
    this.#options = options;
    this.#path = join(options.dataDir, keyFileName);
    this.keyring = new Keyring({ clock: options.clock });
  }

  /**
   * Reads the file. A crash while the first key was made leaves an empty or torn one, which is reported.
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

  /** @throws {KeyError} `key_file_damaged` @throws {Error} whose text says whether the change may have been stored */
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
      await this.#appendLine(line, fault !== undefined);
      return this.#applyRest(Buffer.concat([this.#applied, line]));
    });
  }

  /** When this resolves, the line and all before it are on disk. An empty line makes durable what was read. */
  async #appendLine(line: Buffer, isTorn: boolean): Promise<void> {
    const { disk, report } = this.#options;
    const path = this.#path;
    const lengthBytes = this.#applied.length;
    const isNew = (await disk.status(path)) === undefined;
    const file = await disk.openToAppend(path);
    const text = `the last line of ${path} is unfinished`;
    const torn = isTorn ? { bytes: Math.max(file.size() - lengthBytes, 0), text } : undefined;
    const tail = await Tail.read({ disk, path, file, lengthBytes, torn, groupBytesMax: lineBytesMax, report }).catch(
      async (error: unknown) => {
        await file.close();
        throw error;
      },
    );
    // What the appender would report is thrown.
    const appender = new Appender({ file, path, lengthBytes, tail, report: () => undefined });
    let effect = "may have been stored: list the keys";
    try {
      const outcome = await appender.append(line);
      await appender.close();
      if ("kind" in outcome) {
        effect = outcome.kind === "absent" ? "was not stored" : effect;
        throw new Error(outcome.reason);
      }
      await disk.syncFolder(dirname(path));
    } catch (error) {
      if (isNew && file.isInPlace()) {
        // An empty file would look as if its lines had been lost. The first failure is the one to report.
        await disk.remove(path).catch(() => undefined);
      }
      throw new Error(`Cannot change keys: ${messageOf(error)}, so the change ${effect}`, { cause: error });
    }
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
  async #readChange(lockWaitMs: number): Promise<FileFault | undefined> {
    const { disk, locksReads = false } = this.#options;
    const { status, isSettled, fault } = this.#last;
    if (isSettled && isDeepStrictEqual(status, await disk.status(this.#path))) {
      return fault;
    }
    return locksReads ? this.#underLock(lockWaitMs, () => this.#read()) : this.#read();
  }

  /** Does nothing if another process holds the lock and `waitMs` is 0. @throws {Error} it holds it for longer */
  async #underLock(waitMs: number, work: () => Promise<FileFault | undefined>): Promise<FileFault | undefined> {
    const lock = await this.#options.disk.lock(`${this.#path}.lock`, waitMs);
    if (lock === undefined) {
      if (waitMs === 0) {
        return this.#last.fault;
      }
      throw new Error(`Cannot lock ${this.#path}: another process has held the lock for ${waitMs / 1_000} s`);
    }
    try {
      return await work();
    } finally {
      await lock.release();
    }
  }

  async #read(): Promise<FileFault | undefined> {
    const { disk, clock } = this.#options;
    const beginMs = clock.monotonicMs();
    const status = await disk.status(this.#path);
    const sinceMs = isDeepStrictEqual(status, this.#last.status) ? this.#last.sinceMs : clock.monotonicMs();
    const isSettled = beginMs - sinceMs >= tickMsMax;
    const content = await readWholeFile(disk, this.#path);
    // Who rewrites a file begins at its start. So if that is still the same now, the end is not that of another file.
    const contentLater = await readWholeFile(disk, this.#path);
    this.exists ||= content !== undefined;
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

  async #applyRest(content: Buffer): Promise<FileFault | undefined> {
    const { length } = this.#applied;
    const { lengthBytes, fault } = await applyKeyLines(content, length, this.keyring, this.#options.onRelief);
    this.#applied = content.subarray(0, lengthBytes);
    return fault;
  }

  /** Reads the keys from another file, if it is sound and has not changed for a while. */
  async #judge(content: Buffer | undefined, isSettled: boolean): Promise<FileFault | undefined> {
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
    const later = reliefs.filter(({ id, timeMs }) => {
      const { unbannedMs = 0, resetMs = 0 } = this.keyring.get(id) ?? {};
      return timeMs > Math.max(unbannedMs, resetMs); // Since the others, requests may have been used, or a ban set.
    });
    this.keyring.takeOver(ring);
    this.#applied = content;
    this.#reported = undefined;
    report(`${this.#path} ${replacedText}; all keys were read from it again`);
    later.forEach((event) => onRelief?.(event));
    return undefined;
  }
}
