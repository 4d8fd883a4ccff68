/**
 * A disk in memory that does what disks may do, replayable from its random numbers.
 *
 * Each file has what programs see (`seen`) and what a loss of power leaves (`kept`). Writes go to `seen`, in pages of
 * `pageBytes`, far smaller than real ones, so that every line spans some. A sync copies the dirty pages and the size to
 * `kept`. A failed sync copies some of them, and the others count as clean from then on: a later sync does not write
 * them, and succeeds (as on Linux). A loss of power leaves, for each dirty page, any version since the last sync, zeros
 * or junk; for the file, any of its sizes since then; for an unsynced folder, the old or the new name of each file.
 *
 * `boot()` hands out the disk as one process sees it. After `killProcess` or `losePower` none of its calls ever
 * resolves, nor does anything: the process is dead. The calls are counted; `plan` says what goes wrong at which.
 */

import { dirname } from "node:path";

import type { Disk, DiskFile, Lock } from "../../src/disk/disk.ts";
import type { SeededRandom } from "./seeded-random.ts";

const pageBytes = 16;

/** "short": the disk is full, which only appending meets. "blind": `stat` of a file fails. */
export type Fault = "none" | "error" | "short" | "blind" | "kill" | "power";

/** Called before each call of the disk, with its number from 1 and its name. */
export type Plan = (call: number, name: string) => Fault;

interface File {
  seen: Buffer;
  kept: Buffer;
  /** Dirty pages, each with its contents since the last sync. */
  readonly versions: Map<number, Buffer[]>;
  /** Sizes since the last sync, the synced one first. */
  sizes: number[];
  /** The offset of the file's unreadable block. */
  bad?: number;
}

/** The size of a block that cannot be read. */
export const badBytes = 16;

/** Reads as a kernel does: up to the block that cannot be read, and fails at the block itself. */
function readSome(path: string, { seen, bad = Infinity }: File, target: Uint8Array, position: number): number {
  if (position >= bad && position < bad + badBytes) {
    throw Object.assign(new Error(`${path}: EIO: i/o error, read`), { code: "EIO" });
  }
  return seen.subarray(position, position < bad ? bad : Infinity).copy(target);
}

/** One for each call: a promise that all share would keep everything that has ever waited for it. */
const never = () => new Promise<never>(() => undefined);

export class SimulatedDisk {
  plan: Plan = () => "none";
  calls = 0;
  /** Resolves when the process that is running now dies. */
  death: Promise<void> = Promise.resolve();
  #die: () => void = () => undefined;
  readonly #random: SeededRandom;
  #process = 0;
  #seenNames = new Map<string, File>();
  #keptNames = new Map<string, File>();
  #locks = new Set<string>();

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** What a loss of power would leave of a file whose dirty pages are all lost. */
  kept(path: string): Buffer {
    return this.#keptNames.get(path)?.kept ?? Buffer.alloc(0);
  }

  /** The paths of all files that programs see. */
  names(): string[] {
    return [...this.#seenNames.keys()];
  }

  seen(path: string): Buffer {
    return this.#seenNames.get(path)?.seen ?? Buffer.alloc(0);
  }

  /** Another process appends. */
  append(path: string, text: string): void {
    const file = this.#file(path);
    this.#write(file, Buffer.from(text), file.seen.length);
  }

  /** Another process removes the file, durably. */
  take(path: string): void {
    this.#seenNames.delete(path);
    this.#keptNames.delete(path);
  }

  /** Another process puts a file with that content at the path, durably. */
  place(path: string, content: Buffer): void {
    const file = this.#newFile();
    file.seen = Buffer.from(content);
    file.kept = Buffer.from(content);
    file.sizes = [content.length];
    this.#seenNames.set(path, file);
    this.#keptNames.set(path, file);
  }

  /** From now on `badBytes` of the file cannot be read. */
  spoil(path: string, offset: number): void {
    this.#file(path).bad = offset;
  }

  killProcess(): void {
    this.#process++;
    this.#locks.clear();
    this.#die();
  }

  losePower(): void {
    for (const file of new Set([...this.#seenNames.values(), ...this.#keptNames.values()])) {
      this.#crash(file);
    }
    for (const path of new Set([...this.#seenNames.keys(), ...this.#keptNames.keys()])) {
      const survivor = this.#random.pick([this.#seenNames, this.#keptNames]).get(path);
      if (survivor === undefined) {
        this.#keptNames.delete(path);
      } else {
        this.#keptNames.set(path, survivor);
      }
    }
    this.#seenNames = new Map(this.#keptNames);
    this.killProcess();
  }

  boot(): Disk {
    const process = ++this.#process;
    this.death = new Promise((resolve) => (this.#die = resolve));
    const call = <Result>(name: string, effect: (isShort: boolean) => Result): Promise<Result> =>
      this.#call(process, name, effect);
    return {
      openToRead: (path) =>
        call("openToRead", () => (this.#seenNames.has(path) ? this.#handle(path, call) : undefined)),
      openToAppend: (path) =>
        call("openToAppend", () => {
          this.#seenNames.set(path, this.#seenNames.get(path) ?? this.#newFile());
          return this.#handle(path, call);
        }),
      exists: (path) => call("exists", () => this.#seenNames.has(path)),
      rename: (from, to) =>
        call("rename", () => {
          this.#seenNames.set(to, this.#file(from));
          this.#seenNames.delete(from);
        }),
      remove: (path) => call("remove", () => void this.#seenNames.delete(path)),
      linkTarget: async () => undefined,
      makeFolder: () => call("makeFolder", () => undefined),
      syncFolder: (folder) => call("syncFolder", () => this.#syncFolder(folder)),
      lock: (path) => call("lock", () => this.#lock(path)),
      isLocked: (path) => call("isLocked", () => this.#locks.has(path)),
      reach: () => call("reach", () => undefined),
    };
  }

  async #call<Result>(process: number, name: string, effect: (isShort: boolean) => Result): Promise<Result> {
    await Promise.resolve();
    if (process !== this.#process) {
      return never();
    }
    const fault = this.plan(++this.calls, name);
    if (fault === "error" || (fault === "blind" && name === "look")) {
      if (name === "sync" || (name === "append" && this.#random.oneIn(2))) {
        effect(true);
      }
      throw Object.assign(new Error(`EIO: i/o error, ${name}`), { code: "EIO" });
    }
    if (fault === "kill" || fault === "power") {
      if (this.#random.oneIn(2)) {
        effect(this.#random.oneIn(2));
      }
      if (fault === "kill") {
        this.killProcess();
      } else {
        this.losePower();
      }
      return never();
    }
    const result = effect(fault === "short" && name === "append");
    if (this.#random.oneIn(3)) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    return process === this.#process ? result : never();
  }

  #handle(path: string, call: <Result>(name: string, effect: (isShort: boolean) => Result) => Promise<Result>): DiskFile {
    const file = this.#file(path);
    const size = file.seen.length;
    return {
      read: (target, position) => call("read", () => readSome(path, file, target, position)),
      append: (bytes) =>
        call("append", (isShort) => {
          const count = isShort ? this.#random.integer(0, bytes.length - 1) : bytes.length;
          this.#write(file, bytes.subarray(0, count), file.seen.length);
          return count;
        }),
      overwrite: (bytes, position) =>
        call("overwrite", () => {
          if (this.#seenNames.get(path) !== file) {
            throw new Error(`${path} leads to another file`);
          }
          this.#write(file, bytes, position);
        }),
      sync: () => call("sync", (isFailing) => this.#sync(file, isFailing)),
      truncate: (size) => call("truncate", () => this.#truncate(file, size)),
      size: () => size,
      stat: () =>
        call("look", () => ({ isInPlace: this.#seenNames.get(path) === file, byteCount: file.seen.length })),
      close: () => call("close", () => undefined),
    };
  }

  #write(file: File, bytes: Uint8Array, position: number): void {
    const end = position + bytes.length;
    const seen = Buffer.alloc(Math.max(end, file.seen.length));
    file.seen.copy(seen);
    seen.set(bytes, position);
    file.seen = seen;
    file.sizes.push(seen.length);
    for (let page = Math.floor(position / pageBytes); page * pageBytes < end; page++) {
      const versions = file.versions.get(page) ?? [];
      versions.push(Buffer.from(seen.subarray(page * pageBytes, (page + 1) * pageBytes)));
      file.versions.set(page, versions);
    }
  }

  #truncate(file: File, size: number): void {
    file.seen = Buffer.from(file.seen.subarray(0, size));
    file.sizes.push(size);
  }

  /** A failing sync writes some of the pages, and forgets that the others are dirty. */
  #sync(file: File, isFailing: boolean): void {
    const size = isFailing ? this.#random.pick(file.sizes) : file.seen.length;
    const kept = Buffer.alloc(size);
    file.kept.copy(kept);
    for (const page of file.versions.keys()) {
      if (!isFailing || this.#random.oneIn(2)) {
        file.seen.subarray(page * pageBytes, (page + 1) * pageBytes).copy(kept, page * pageBytes);
      }
    }
    file.kept = kept;
    file.versions.clear();
    file.sizes = isFailing ? [size, file.seen.length] : [size];
  }

  #crash(file: File): void {
    const size = this.#random.pick(file.sizes);
    const stableBytes = Math.min(...file.sizes);
    const after = Buffer.alloc(size);
    file.kept.copy(after);
    // Often every page arrives, and only the size is an older one, or the other way round.
    const leastWay = this.#random.pick([0, 0, 2]);
    const isOldest = this.#random.oneIn(3);
    for (const [page, versions] of file.versions) {
      const start = page * pageBytes;
      const way = this.#random.integer(leastWay, 5);
      if (way >= 2) {
        (isOldest ? versions[0] : this.#random.pick(versions))?.copy(after, start);
      } else if (way === 1) {
        for (let at = Math.max(start, stableBytes); at < Math.min(start + pageBytes, size); at++) {
          after[at] = this.#random.integer(0, 255);
        }
      }
    }
    file.kept = after;
    file.seen = Buffer.from(after);
    file.versions.clear();
    file.sizes = [size];
  }

  #syncFolder(folder: string): void {
    for (const path of new Set([...this.#seenNames.keys(), ...this.#keptNames.keys()])) {
      const file = this.#seenNames.get(path);
      if (dirname(path) === folder && file === undefined) {
        this.#keptNames.delete(path);
      } else if (dirname(path) === folder && file !== undefined) {
        this.#keptNames.set(path, file);
      }
    }
  }

  #lock(path: string): Lock | undefined {
    if (this.#locks.has(path)) {
      return undefined;
    }
    this.#locks.add(path);
    return {
      answer: () => undefined,
      isInPlace: async () => this.#locks.has(path),
      release: async () => void this.#locks.delete(path),
    };
  }

  #file(path: string): File {
    const file = this.#seenNames.get(path);
    if (file === undefined) {
      throw Object.assign(new Error(`ENOENT: no such file, '${path}'`), { code: "ENOENT" });
    }
    return file;
  }

  #newFile(): File {
    const empty = Buffer.alloc(0);
    return { seen: empty, kept: empty, versions: new Map(), sizes: [0] };
  }
}
