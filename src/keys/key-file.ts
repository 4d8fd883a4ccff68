/**
 * Follows keys.jsonl, to which commands and servers append at any time.
 *
 * The file is read whenever its size or time has changed. Reading takes no lock, so an unfinished last line is most
 * likely still being written: it is reported at the start, or if it is there at the next look too. Any other fault is
 * reported once, and keys known so far go on working. A file that was replaced is never read: a restart does that.
 *
 * An event is decided and appended under the file's lock, after the lines of others have been read.
 */

import { join } from "node:path";

import type { Clock } from "../base/clock.ts";
import type { Disk, FileStatus } from "../disk/disk.ts";
import { messageOf, readError } from "../base/error-message.ts";
import { checkWhole } from "../disk/whole-folder.ts";
import { appendLines, underLock } from "../log/locked-append.ts";
import { encodeKeyEvent } from "./key-line.ts";
import { KeyLog } from "./key-log.ts";
import { type Finding, KeyReader } from "./key-reader.ts";
import { KeyError, type KeyEvent } from "./key.ts";
import { Keyring } from "./keyring.ts";

export interface KeyFileOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly dataDir: string;
  /** Receives one line for the operator, never with a secret. */
  readonly report: (message: string) => void;
  /** Called for each unban that is read after the opening. */
  readonly onUnban?: (keyId: string) => void;
}

export const keyFileName = "keys.jsonl";

/** How the file was at the last look, and what was found in it. */
interface Look {
  readonly status: FileStatus;
  readonly finding: Finding;
  /** Monotonic: when this status was first seen. */
  readonly sinceMs: number;
  /** Whether every later change of the file gives it another status. */
  readonly isSettled: boolean;
}

const goesOn = "keys known so far go on working";

/** More than a tick of any file system's clock: two changes within one tick may leave the same time. */
const tickMsMax = 100;

export class KeyFile extends KeyLog {
  readonly keyring: Keyring;
  readonly #options: KeyFileOptions;
  readonly #path: string;
  readonly #reader: KeyReader;
  #isOpen = false;
  #last: Look | undefined;
  /** The unfinished line at the last look, and the fault reported last. */
  #torn: string | undefined;
  #reported: string | undefined;
  #lastStep: Promise<unknown> = Promise.resolve();

  private constructor(options: KeyFileOptions) {
    super();
    this.#options = options;
    this.#path = join(options.dataDir, keyFileName);
    this.keyring = new Keyring({ clock: options.clock });
    this.#reader = new KeyReader(this.keyring, (keyId) => {
      if (this.#isOpen) {
        options.onUnban?.(keyId);
      }
    });
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
    const finding = await file.#lookNow().catch((error: unknown) => {
      throw readError(file.#path, error);
    });
    if (finding.kind === "corrupt" || finding.kind === "replaced") {
      throw new KeyError("key_file_damaged", `Cannot read keys: ${file.#path} ${finding.fault}`);
    }
    if (file.exists && file.#reader.offset === 0) {
      const fault = finding.kind === "torn" ? finding.fault : undefined;
      file.#reported = fault;
      options.report(`${file.#path} ${fault ?? "is empty"}; there are no keys until "keys create" makes one`);
    } else if (finding.kind === "torn") {
      file.#reportOnce(finding.fault, "the last change of a key has no effect");
    }
    file.#isOpen = true;
    return file;
  }

  /** Whether the file has existed at any look. */
  get exists(): boolean {
    return this.#last !== undefined;
  }

  /** @throws {KeyError} `key_file_damaged` */
  async append(decide: () => KeyEvent | undefined): Promise<void> {
    const { disk, dataDir } = this.#options;
    await disk.makeFolder(dataDir);
    // Looks wait for the write, which takes its line back if it fails. They do not wait for the lock: its holder may
    // keep it for seconds.
    await underLock(disk, this.#path, () => this.#inTurn(() => this.#appendNow(decide)));
    await this.refresh();
  }

  /** Applies what others appended, then appends. An unfinished line is accepted: its writer is dead. */
  async #appendNow(decide: () => KeyEvent | undefined): Promise<void> {
    const { disk, report } = this.#options;
    const finding = await this.#lookNow();
    if (finding.kind === "corrupt" || finding.kind === "replaced") {
      throw new KeyError("key_file_damaged", `Cannot change keys: ${this.#path} ${finding.fault}`);
    }
    const event = decide();
    const lines = event === undefined ? [] : [encodeKeyEvent(event)];
    const aside = await appendLines(disk, this.#path, { lines, lengthBytes: this.#reader.offset });
    if (aside !== undefined) {
      report(`warning: the unfinished line at the end of ${this.#path} was moved to ${aside}`);
    }
  }

  protected override async look(): Promise<void> {
    try {
      this.#reportFinding(await this.#inTurn(() => this.#lookNow()));
    } catch (error) {
      this.#reportOnce(`cannot be read: ${messageOf(error)}`);
    }
  }

  #reportFinding(finding: Finding): void {
    if (finding.kind === "replaced") {
      this.#reportOnce(finding.fault, `${goesOn}; restart the server to read it`);
    } else if (finding.kind === "corrupt" || (finding.kind === "torn" && finding.fault === this.#torn)) {
      this.#reportOnce(finding.fault);
    } else if (finding.kind === "sound" && this.#reported !== undefined) {
      this.#reported = undefined;
      this.#options.report(`${this.#path} can be read again`);
    }
    this.#torn = finding.kind === "torn" ? finding.fault : undefined;
  }

  #reportOnce(fault: string, effect = goesOn): void {
    if (this.#reported !== fault) {
      this.#reported = fault;
      this.#options.report(`${this.#path} ${fault}; ${effect}`);
    }
  }

  /** Looks and writes never overlap. */
  #inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const running = this.#lastStep.then(step);
    // The caller of this step handles its failure; the next step does not depend on it.
    this.#lastStep = running.catch(() => undefined);
    return running;
  }

  async #lookNow(): Promise<Finding> {
    const { disk, clock } = this.#options;
    const beginMs = clock.monotonicMs();
    const status = await disk.status(this.#path);
    const last = isSame(status, this.#last?.status) ? this.#last : undefined;
    if (last?.isSettled === true) {
      return last.finding;
    }
    const sinceMs = last?.sinceMs ?? clock.monotonicMs();
    const file = status === undefined ? undefined : await disk.openToRead(this.#path);
    if (status === undefined || file === undefined) {
      return this.#reader.offset === 0 ? { kind: "sound" } : { kind: "corrupt", fault: "was removed" };
    }
    try {
      const finding = await this.#reader.read(file);
      this.#last = { status, finding, sinceMs, isSettled: beginMs - sinceMs >= tickMsMax };
      return finding;
    } finally {
      await file.close();
    }
  }
}

function isSame(status: FileStatus | undefined, other: FileStatus | undefined): boolean {
  return status?.size === other?.size && status?.modifiedMs === other?.modifiedMs;
}
