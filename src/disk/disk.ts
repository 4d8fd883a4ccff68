/**
 * What this program asks of a disk. Everything durable goes through here, so that tests can use a disk that fails, or
 * loses what was not synced.
 */

import type { Duplex } from "node:stream";

import type { Clock } from "../base/clock.ts";
import type { Report } from "../base/report.ts";

/**
 * An open file. Errors have the `code` of Node's own (`ENOSPC`, `EIO` …). Each call waits as long as the disk hangs or
 * is frozen; the event loop goes on.
 */
export interface DiskFile {
  /** Reads from `position`, in bytes. Resolves to the number of bytes read, 0 at the end of the file. */
  read(target: Uint8Array, position: number): Promise<number>;
  /** Writes at the end. Resolves to the number of bytes written: **fewer than given if the disk is full, no error**. */
  append(bytes: Uint8Array): Promise<number>;
  /** Replaces the bytes at `position`, if the path leads to the file. Not durable before the next `sync`. */
  overwrite(bytes: Uint8Array, position: number): Promise<void>;
  /** Resolves when all that was written survives a loss of power (fdatasync: content and size). */
  sync(): Promise<void>;
  /** Cuts the file to `size` bytes. Not durable before the next `sync`. */
  truncate(size: number): Promise<void>;
  /** Bytes in the file when it was opened. */
  size(): number;
  /** What the file is now, and whether the path that it was opened by still leads to it. */
  stat(): Promise<{ readonly isInPlace: boolean; readonly byteCount: number }>;
  close(): Promise<void>;
}

/** A name that this process holds until it releases it or dies. */
export interface Lock {
  /** From now on `take` gets each connection that is made by `reach`, and those that wait already. */
  answer(take: (connection: Duplex) => void): void;
  /** Whether the path still leads to this lock: its folder may have been renamed, or another one mounted over it. */
  isInPlace(): Promise<boolean>;
  release(): Promise<void>;
}

export interface Disk {
  /** Resolves to undefined if there is no such file. */
  openToRead(path: string): Promise<DiskFile | undefined>;
  /** Opens for reading and appending. Makes the file if there is none, mode 0600; its name is not durable yet. */
  openToAppend(path: string): Promise<DiskFile>;
  /** The absolute path that the link at `path` leads to; undefined if there is no link. */
  linkTarget(path: string): Promise<string | undefined>;
  /** Whether there is such a file or folder. */
  exists(path: string): Promise<boolean>;
  /** Atomically renames `from` to `to`, replacing a file there. Not durable before `syncFolder`. */
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Makes the folder and its missing parents, mode 0700. The new names are durable. */
  makeFolder(path: string): Promise<void>;
  /** Resolves when the names in the folder survive a loss of power. */
  syncFolder(path: string): Promise<void>;
  /** Locks the name. A dead process holds none. Resolves to undefined if a living process holds it. */
  lock(path: string): Promise<Lock | undefined>;
  isLocked(path: string): Promise<boolean>;
  /** Connects to the process that holds the name; undefined if none does. It may be stopped, and never answer. */
  reach(path: string): Promise<Duplex | undefined>;
}

/** What work on files needs. */
export interface Surroundings {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly report: Report;
}

/** What work on a data folder needs. */
export interface FolderSurroundings extends Surroundings {
  readonly dataDir: string;
}
