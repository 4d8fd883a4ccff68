/**
 * Follows keys.jsonl, which commands and servers append to at any time, and keeps a ring that holds what it says.
 *
 * The file is looked at by its size, time and inode, and only what was appended since is read. No lock is taken for
 * reading, so an unfinished last line is most likely being written: it is waited for, and told only when it is still
 * there at the next look. Damage, in what was appended or in a file that took this one's place, is told once, and the
 * keys known so far go on working; so do they while the file is gone. A file that took this one's place, or that has
 * lost what was read of it, is read from the top and taken over once it is whole: then its lines replace all.
 *
 * Writes nothing; key-store.ts does.
 */

import type { Clock } from "../disk/clock.ts";
import type { Disk, DiskFile, FileStatus } from "../disk/disk.ts";
import { KeyReader, readOn } from "./key-reader.ts";
import { KeyError } from "./key.ts";
import { Keyring } from "./keyring.ts";

export interface KeyFileOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly path: string;
  /** Told of what an operator should see. */
  readonly report: (message: string) => void;
  /** Called for each unban after the opening, and in it for those from `unbansFrom` on. */
  readonly onUnban: (keyId: string) => void;
  /** Byte offset, a `logBytes` of old: unbans before it have been called for. None is called for again without it. */
  readonly unbansFrom: number | undefined;
}

type Finding =
  | { readonly kind: "whole" }
  /** An unfinished line stands behind the sound ones. */
  | { readonly kind: "torn"; readonly fault: string }
  | { readonly kind: "damaged"; readonly fault: string };

export class KeyFile {
  readonly ring: Keyring;
  readonly #options: KeyFileOptions;
  readonly #reader: KeyReader;
  #unbansFrom: number;
  /** Which file was read so far; undefined where there was none yet. */
  #inode: number | undefined;
  /** Another file stands in its place, or it has been cut: it counts only once it is whole from the top. */
  #isReplaced = false;
  /** What was found when the file was last read, and how it was then: as long as it is so, nothing else is found. */
  #last: { readonly status: FileStatus; readonly finding: Finding } | undefined;
  /** The unfinished line at the last look, and the fault told last. */
  #torn: string | undefined;
  #reported: string | undefined;
  #looking: Promise<unknown> = Promise.resolve();
  #following: Promise<void> | undefined;

  private constructor(options: KeyFileOptions) {
    this.#options = options;
    this.#unbansFrom = options.unbansFrom ?? Infinity;
    this.ring = new Keyring({ clock: options.clock });
    this.#reader = new KeyReader(this.ring, (keyId, offset) => {
      if (offset >= this.#unbansFrom) {
        options.onUnban(keyId);
      }
    });
  }

  /**
   * Reads the file from the top; one that is not there has no keys.
   *
   * @throws {KeyError} `key_file_damaged`: a revocation may have been lost, so nobody is let in
   */
  static async open(options: KeyFileOptions): Promise<KeyFile> {
    const file = new KeyFile(options);
    const finding = await file.#look();
    if (finding.kind === "damaged") {
      throw new KeyError("key_file_damaged", `Cannot read keys: ${finding.fault}`);
    }
    if (finding.kind === "torn") {
      file.#reportOnce(finding.fault);
    }
    file.#unbansFrom = 0;
    return file;
  }

  /** Up to which byte of the file the ring holds what it says. */
  get offset(): number {
    return this.#reader.offset;
  }

  get lineCount(): number {
    return this.#reader.lineCount;
  }

  /** One look at the file. Never rejects: what is wrong is reported, and what was known stays. Looks never overlap. */
  follow(): Promise<void> {
    this.#following ??= this.#follow().finally(() => {
      this.#following = undefined;
    });
    return this.#following;
  }

  /** The same, by a look that begins after this call: what was written before it is seen. */
  async followAnew(): Promise<void> {
    await this.#following;
    await this.follow();
  }

  /**
   * Reads on for somebody who holds the lock and is about to append, and has to know of every line before that. An
   * unfinished one is fine: whoever was writing it is dead.
   *
   * @throws {KeyError} `key_file_damaged`
   */
  async readUnderLock(): Promise<void> {
    const finding = await this.#look();
    if (finding.kind === "damaged" || (finding.kind === "torn" && this.#isReplaced)) {
      throw new KeyError("key_file_damaged", `Cannot change keys: ${finding.fault}`);
    }
  }

  async #follow(): Promise<void> {
    try {
      this.#tell(await this.#look());
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#reportOnce(`${this.#options.path} cannot be read: ${reason}`);
    }
  }

  #tell(finding: Finding): void {
    if (finding.kind === "damaged" || (finding.kind === "torn" && finding.fault === this.#torn)) {
      this.#reportOnce(finding.fault);
    }
    if (finding.kind === "whole" && this.#reported !== undefined) {
      this.#reported = undefined;
      this.#options.report(`${this.#options.path} is sound again`);
    }
    this.#torn = finding.kind === "torn" ? finding.fault : undefined;
  }

  #reportOnce(fault: string): void {
    if (this.#reported !== fault) {
      this.#reported = fault;
      this.#options.report(`${fault}; the keys known so far go on working`);
    }
  }

  #look(): Promise<Finding> {
    const look = this.#looking.then(() => this.#lookNow());
    // Its failure is for whoever asked for that look, not for the one who comes after it.
    this.#looking = look.catch(() => undefined);
    return look;
  }

  async #lookNow(): Promise<Finding> {
    const { disk, path } = this.#options;
    const status = await disk.status(path);
    if (status !== undefined && isSame(status, this.#last?.status)) {
      return this.#last?.finding ?? { kind: "whole" };
    }
    const file = status === undefined ? undefined : await disk.openToRead(path);
    if (status === undefined || file === undefined) {
      return this.#inode === undefined ? { kind: "whole" } : { kind: "damaged", fault: `${path} is gone` };
    }
    try {
      const finding = await this.#read(file, status.inode);
      this.#last = { status, finding };
      return finding;
    } finally {
      await file.close();
    }
  }

  async #read(file: DiskFile, inode: number): Promise<Finding> {
    this.#inode ??= inode;
    this.#isReplaced ||= inode !== this.#inode || file.size() < this.#reader.offset;
    return this.#isReplaced ? this.#readAnew(file, inode) : this.#readOn(file, this.#reader);
  }

  /** An empty file takes over nothing: it is what somebody leaves who is just writing it anew. */
  async #readAnew(file: DiskFile, inode: number): Promise<Finding> {
    const ring = new Keyring({ clock: this.#options.clock });
    const reader = new KeyReader(ring, () => undefined);
    const finding = await this.#readOn(file, reader);
    if (finding.kind !== "whole") {
      return finding;
    }
    if (reader.lineCount === 0) {
      return { kind: "torn", fault: `${this.#options.path} was emptied` };
    }
    this.ring.takeOver(ring);
    this.#reader.offset = reader.offset;
    this.#reader.lineCount = reader.lineCount;
    this.#inode = inode;
    this.#isReplaced = false;
    return finding;
  }

  async #readOn(file: DiskFile, reader: KeyReader): Promise<Finding> {
    const { path } = this.#options;
    const end = await readOn(file, reader);
    switch (end.kind) {
      case "whole":
        return { kind: "whole" };
      case "torn":
        return { kind: "torn", fault: `${path} ends in ${end.tornBytes} bytes that are no whole line: ${end.reason}` };
      case "corrupt": {
        const place = `line ${reader.lineCount + 1}, byte ${end.offset}`;
        return { kind: "damaged", fault: `${path} is damaged at ${place}: ${end.reason}` };
      }
    }
  }
}

function isSame(status: FileStatus, other: FileStatus | undefined): boolean {
  return (
    other !== undefined &&
    status.size === other.size &&
    status.modifiedMs === other.modifiedMs &&
    status.inode === other.inode
  );
}
