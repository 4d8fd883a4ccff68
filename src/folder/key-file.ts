/**
 * The file keys.jsonl, read once, when it is opened. From then on only the process that holds the folder writes to it.
 *
 * Should another process have changed or replaced the file, the keys known go on working, and none can be changed,
 * until a restart reads what is there. Damage before the last line, or of more than that one line, stops a start, since
 * a revocation may be lost. A damaged last line alone is a torn tail.
 */

import { join } from "node:path";

import { systemClock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { checkWhole } from "../disk/atomic-folder.ts";
import type { Disk, DiskFile, FolderSurroundings } from "../disk/disk.ts";
import { fileOf, type ReadableFile, readBytes, readWholeFile } from "../disk/file-bytes.ts";
import type { KeyLog } from "../keys/key-commands.ts";
import { type KeyEvent, kindOf, type Lift } from "../keys/key-events.ts";
import { decodeKeyEvent, encodeKeyEvent, keyLineBytesMax } from "../keys/key-line.ts";
import { KeyError } from "../keys/key.ts";
import { Keyring } from "../keys/keyring.ts";
import { Appender } from "../log/appender.ts";
import { damageText, lineBytesMax, type LineReader, type LogEnd, readLog, tornText } from "../log/reader.ts";
import { settleEnd } from "../log/settle-end.ts";

export interface KeyFileOptions extends FolderSurroundings {
  /** For a process that does not hold the folder: it can change nothing, and the file need not be writable. */
  readonly isReadOnly?: boolean;
  /** Called for each unban and reset that is appended, which is done once this resolves. */
  readonly onGrant?: (lift: Lift, keyId: string) => Promise<void>;
}

export const keyFileName = "keys.jsonl";

const noKeys = "there are no keys until one is made";

export class KeyFile implements KeyLog {
  readonly keyring: Keyring;
  /** Changed here only. */
  exists = false;
  readonly #options: KeyFileOptions;
  readonly #path: string;
  /** Undefined if there is no file yet. */
  #appender: Appender | undefined;
  #isNameDurable = false;
  #isChecking = false;
  #isEndReported = false;

  private constructor(options: KeyFileOptions) {
    this.#options = options;
    this.#path = join(options.dataDir, keyFileName);
    this.keyring = new Keyring({ clock: options.clock });
  }

  /**
   * Reads the file. A crash while the first key was made leaves an empty or torn one, which is reported.
   * @throws {KeyError} `key_file_damaged`: a revocation may have been lost, so no key may work
   * @throws {Error} the file cannot be read, its end cannot be settled, or an export into the folder was not finished
   */
  static async open(options: KeyFileOptions): Promise<KeyFile> {
    const { disk, dataDir, isReadOnly = false } = options;
    await checkWhole(disk, dataDir);
    const keys = new KeyFile(options);
    const path = keys.#path;
    const isToAppend = !isReadOnly && (await disk.exists(path));
    const file = await (isToAppend ? disk.openToAppend(path) : disk.openToRead(path));
    if (file === undefined) {
      return keys;
    }
    keys.exists = true;
    try {
      await keys.#begin(file, await applyKeyLines(file, keys.keyring));
      return keys;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async #begin(file: DiskFile, end: LogEnd): Promise<void> {
    const { disk, report, isReadOnly } = this.#options;
    const path = this.#path;
    if (end.kind === "corrupt") {
      throw new KeyError("key_file_damaged", `Cannot read keys: ${damageText(path, end)}`);
    }
    const { kind, lengthBytes } = end;
    const tornEffect = lengthBytes === 0 ? noKeys : "the last change of a key has no effect";
    if (kind === "whole" && lengthBytes === 0) {
      report(`${path} is empty; ${noKeys}`);
    }
    if (isReadOnly === true) {
      void (kind === "torn" && report(`${tornText(path, end)}; ${tornEffect}`));
      return file.close();
    }
    await settleEnd({ disk, path, file, end, groupBytesMax: lineBytesMax, tornEffect, report });
    this.#isNameDurable = true;
    this.#appender = this.#appenderOf(file, lengthBytes);
  }

  /** The appender reports nothing: failures are thrown, or reported by `check`. */
  #appenderOf(file: DiskFile, lengthBytes: number): Appender {
    return new Appender({ file, path: this.#path, lengthBytes, report: () => undefined });
  }

  /** @throws {Error} whose text says whether the change may have been stored */
  async append(decide: () => KeyEvent | undefined): Promise<void> {
    const event = decide();
    const { disk, dataDir, onGrant } = this.#options;
    const isNew = this.#appender === undefined && !(await disk.exists(this.#path));
    let made: DiskFile | undefined;
    let effect = "was not stored";
    try {
      if (event === undefined) {
        return;
      }
      if (this.#appender === undefined) {
        await disk.makeFolder(dataDir);
        made = await disk.openToAppend(this.#path);
        // If another process has made a file meanwhile, the appender finds it longer than it should be.
        this.#appender = this.#appenderOf(made, 0);
      }
      if (!this.#isNameDurable) {
        await disk.syncFolder(dataDir);
        this.#isNameDurable = true;
      }
      const outcome = await this.#appender.append(Buffer.from(encodeKeyEvent(event)));
      if (outcome.kind !== "appended") {
        effect = outcome.kind === "unknown" ? "may have been stored: list the keys" : effect;
        throw new Error(outcome.reason);
      }
      this.keyring.apply(event);
      const { lifts } = kindOf(event);
      if (lifts !== undefined) {
        effect = "is in effect until a restart";
        await onGrant?.(lifts, event.id);
      }
    } catch (error) {
      if (isNew && made !== undefined) {
        await this.#remove(made).catch(() => undefined); // The first failure is the one to report.
      }
      throw new Error(`Cannot change keys: ${messageOf(error)}, so the change ${effect}`, { cause: error });
    } finally {
      await this.check();
    }
  }

  /** Removes a file that got no line: it would look as if its lines had been lost. */
  async #remove(file: DiskFile): Promise<void> {
    if ((await file.stat()).isInPlace) {
      await this.#options.disk.remove(this.#path);
      this.#appender = undefined;
      this.#isNameDurable = false;
      await file.close();
    }
  }

  /** Says once that another process has changed or replaced the file, or that no key can be changed any more. */
  async check(): Promise<void> {
    const appender = this.#appender;
    if (appender === undefined || this.#isChecking || this.#isEndReported) {
      return;
    }
    this.#isChecking = true; // On a disk that hangs, no further check waits.
    await appender.checkUnchanged();
    this.#isChecking = false;
    if (appender.ended !== undefined) {
      this.#isEndReported = true;
      const effect = "the keys known go on working, and none can be changed, until a restart";
      this.#options.report(`${appender.ended}; ${effect}`, "warning");
    }
  }

  async close(): Promise<void> {
    await this.check();
    const appender = this.#appender;
    this.#appender = undefined;
    await appender?.close();
  }
}

/** Bytes of lines that are applied in one turn of the event loop: about 2 ms. */
const turnBytesMax = 65_536;

/** Applies the lines to the ring, up to the first fault. Resolves to how the file ends. */
export async function applyKeyLines(file: ReadableFile, ring: Keyring): Promise<LogEnd> {
  const lines: LineReader = {
    take(bytes, start, lineEnd) {
      const reading = decodeKeyEvent(bytes, start, lineEnd);
      if (reading.kind !== "event") {
        return reading;
      }
      const reason = ring.apply(reading.event);
      return reason === undefined ? undefined : { kind: "wrong", reason };
    },
    lineBytesMax,
    provesEarlierLines: () => true,
  };
  const yielding: ReadableFile = {
    read: (target, position) => file.read(target.subarray(0, turnBytesMax), position),
    size: () => file.size(),
  };
  const end = await readLog(yielding, lines, { tornBytesMax: keyLineBytesMax });
  if (end.kind !== "torn") {
    return end;
  }
  const { lengthBytes: offset, lineCount, reason } = end;
  const torn = await readBytes(file, end.tornBytes, offset);
  // A crash damages one line only. A newline does not show that another one follows: it may be junk.
  return torn.includes('\n{"event":"') ? { kind: "corrupt", lineNumber: lineCount + 1, offset, reason } : end;
}

/** The whole file; undefined if there is none. @throws {Error} it cannot be read, or any line is damaged */
export async function readIntactKeys(disk: Disk, path: string): Promise<Buffer | undefined> {
  const content = await readWholeFile(disk, path);
  const end = content && (await applyKeyLines(fileOf(content), new Keyring({ clock: systemClock })));
  if (end === undefined || end.kind === "whole") {
    return content;
  }
  throw new Error(end.kind === "torn" ? tornText(path, end) : damageText(path, end));
}
