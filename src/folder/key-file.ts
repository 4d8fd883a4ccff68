/**
 * keys.jsonl, read once, when it is opened. From then on whoever holds the folder is the only one that writes to it.
 *
 * Should another process have changed or replaced the file, the keys known go on working, and none can be changed,
 * until a restart reads what is there.
 */

import { join } from "node:path";

import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import type { Disk, DiskFile } from "../disk/disk.ts";
import { readError } from "../disk/file-errors.ts";
import { checkWhole } from "../disk/whole-folder.ts";
import { Appender, type AppendTimes, type WriteFailure } from "../log/appender.ts";
import { damageText, lineBytesMax } from "../log/reader.ts";
import { Tail } from "../log/tail.ts";
import { encodeKeyEvent } from "../keys/key-line.ts";
import { applyKeyLines, tornKeyText } from "./read-keys.ts";
import type { KeyLog } from "../keys/key-store.ts";
import { KeyError, type KeyEvent, type Relief } from "../keys/key.ts";
import { Keyring } from "../keys/keyring.ts";

export interface KeyFileOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly dataDir: string;
  /** Receives one line for the operator, never with a secret. */
  readonly report: Report;
  /** For who does not hold the folder: nothing can be changed, and the file need not be writable (default false). */
  readonly isReadOnly?: boolean;
  /** Called for each unban and reset that is appended, in one step with its effect on the keyring. */
  readonly onRelief?: (event: Relief) => void;
}

export const keyFileName = "keys.jsonl";

export class KeyFile implements KeyLog {
  readonly keyring: Keyring;
  /** Changed here only. */
  exists = false;
  readonly #options: KeyFileOptions;
  readonly #path: string;
  /** Undefined if there is no file yet. */
  #appender: Appender | undefined;
  /** Whether what was read, or made, is synced, and its name, too. */
  #isDurable = false;
  #isAppending = false;
  #isEndReported = false;

  private constructor(options: KeyFileOptions) {
    this.#options = options;
    this.#path = join(options.dataDir, keyFileName);
    this.keyring = new Keyring({ clock: options.clock });
  }

  /**
   * Reads the file. A crash while the first key was made leaves an empty or torn one, which is reported.
   * @throws {KeyError} `key_file_damaged`: a revocation may have been lost, so no key may work
   * @throws {Error} the file cannot be read, or an export into the folder was not finished
   */
  static async open(options: KeyFileOptions): Promise<KeyFile> {
    const { disk, dataDir, isReadOnly = false } = options;
    await checkWhole(disk, dataDir);
    const keys = new KeyFile(options);
    const path = keys.#path;
    let file: DiskFile | undefined;
    try {
      const isToAppend = !isReadOnly && (await disk.exists(path));
      file = isToAppend ? await disk.openToAppend(path) : await disk.openToRead(path);
      if (file !== undefined) {
        await keys.#read(file);
      }
      return keys;
    } catch (error) {
      await file?.close();
      throw error instanceof KeyError ? error : readError(path, error);
    }
  }

  async #read(file: DiskFile): Promise<void> {
    const { disk, report, isReadOnly } = this.#options;
    const path = this.#path;
    const end = await applyKeyLines(file, this.keyring);
    if (end.kind === "corrupt") {
      throw new KeyError("key_file_damaged", `Cannot read keys: ${damageText(path, end)}`);
    }
    const { kind, lengthBytes } = end;
    if (lengthBytes === 0) {
      report(`${kind === "torn" ? tornKeyText(path, end) : `${path} is empty`}; there are no keys until one is made`);
    } else if (kind === "torn") {
      report(`${tornKeyText(path, end)}; the last change of a key has no effect`);
    }
    this.exists = true;
    if (isReadOnly === true) {
      return file.close();
    }
    const torn = kind === "torn" ? { bytes: end.tornBytes, text: `the last line of ${path} is unfinished` } : undefined;
    const tail = await Tail.read({ disk, path, file, lengthBytes, torn, groupBytesMax: lineBytesMax, report });
    this.#appender = this.#appenderOf(file, lengthBytes, tail);
  }

  /** What it would report is thrown, or reported by `check`. */
  #appenderOf(file: DiskFile, lengthBytes: number, tail: Tail | undefined): Appender {
    return new Appender({ file, path: this.#path, lengthBytes, tail, report: () => undefined });
  }

  /** @throws {Error} whose text says whether the change may have been stored */
  async append(decide: () => KeyEvent | undefined): Promise<void> {
    const event = decide();
    const { disk, dataDir, onRelief } = this.#options;
    const isNew = this.#appender === undefined && !(await disk.exists(this.#path));
    let made: DiskFile | undefined;
    let effect = "was not stored";
    this.#isAppending = true;
    try {
      if (this.#appender === undefined) {
        await disk.makeFolder(dataDir);
        made = await disk.openToAppend(this.#path);
        // If another process has made a file meanwhile, the appender finds it longer than it should be.
        this.#appender = this.#appenderOf(made, 0, undefined);
      }
      const appender = this.#appender;
      // A process that was killed may have left its last line, and the name of the file, unsynced. Two such lines would
      // not look like one that a crash tore. Who is told that nothing was to be changed relies on this, too.
      if (!this.#isDurable) {
        mustSucceed(await appender.append(Buffer.alloc(0)));
        await disk.syncFolder(dataDir);
        this.#isDurable = true;
      }
      if (event === undefined) {
        return;
      }
      const outcome = await appender.append(Buffer.from(encodeKeyEvent(event)));
      effect = "kind" in outcome && outcome.kind === "unknown" ? "may have been stored: list the keys" : effect;
      mustSucceed(outcome);
      this.keyring.apply(event);
      if (event.event === "unbanned" || event.event === "reset") {
        onRelief?.(event);
      }
    } catch (error) {
      if (isNew && made !== undefined) {
        await this.#remove(made).catch(() => undefined); // The first failure is the one to report.
      }
      throw new Error(`Cannot change keys: ${messageOf(error)}, so the change ${effect}`, { cause: error });
    } finally {
      this.#isAppending = false;
      this.check();
    }
  }

  /** An empty file would look as if its lines had been lost. */
  async #remove(file: DiskFile): Promise<void> {
    if (file.isInPlace()) {
      await this.#options.disk.remove(this.#path);
      this.#appender = undefined;
      this.#isDurable = false;
      await file.close();
    }
  }

  /** Says once that another process has changed or replaced the file, or that no key can be changed any more. */
  check(): void {
    const appender = this.#appender;
    if (appender === undefined || this.#isAppending || this.#isEndReported) {
      return;
    }
    appender.checkUnchanged();
    if (appender.ended !== undefined) {
      this.#isEndReported = true;
      const effect = "the keys known go on working, and none can be changed, until a restart";
      this.#options.report(`${appender.ended}; ${effect}`, "warning");
    }
  }

  async close(): Promise<void> {
    this.check();
    const appender = this.#appender;
    this.#appender = undefined;
    await appender?.close();
  }
}

/** @throws {Error} why it was not appended */
function mustSucceed(outcome: AppendTimes | WriteFailure): void {
  if ("kind" in outcome) {
    throw new Error(outcome.reason);
  }
}
