/**
 * The file seam: the few things that this program asks of a disk, each with what it promises. Everything that is kept
 * goes through here, so that a test can bring a disk that fails, forgets or tears.
 */

/** An open file. Errors are Node's own, with their `code` (`ENOSPC`, `EIO` …). */
export interface DiskFile {
  /** Reads into `target` from `position` (bytes); resolves to how many bytes came, 0 at the end of the file. */
  read(target: Uint8Array, position: number): Promise<number>;
  /**
   * Writes at the end of the file, wherever that is by then. Resolves to how many bytes were taken: **fewer than given,
   * without an error, where the disk was full**, so the count has to be compared, always.
   */
  append(bytes: Uint8Array): Promise<number>;
  /** Resolves when all that was written would survive a loss of power (fdatasync: content and size). */
  sync(): Promise<void>;
  /** Cuts the file to `size` bytes. Not durable before the next `sync`. */
  truncate(size: number): Promise<void>;
  /**
   * Bytes in the file now. Synchronous: it reads the inode in memory and never waits for the disk, and an asynchronous
   * call before each group of appends would cost more than the whole check is worth.
   */
  size(): number;
  /** Whether the path that the file was opened by still leads to it. Synchronous, for the same reason. */
  isInPlace(): boolean;
  close(): Promise<void>;
}

export interface FileStatus {
  readonly size: number;
  readonly modifiedMs: number;
  /** Which file stands behind the name: changes when another takes its place. */
  readonly inode: number;
}

/** A name that this process holds until it releases it or dies. */
export interface Lock {
  release(): Promise<void>;
}

export interface Disk {
  /** Opens for reading only. Resolves to undefined where there is no such file. */
  openToRead(path: string): Promise<DiskFile | undefined>;
  /** Opens for reading and appending; makes the file, mode 0600, where there is none. Its name is not durable yet. */
  openToAppend(path: string): Promise<DiskFile>;
  /** Writes `bytes` over those at `position` of a file that is there. Not durable before a `sync` of the file. */
  overwrite(path: string, bytes: Uint8Array, position: number): Promise<void>;
  /** Undefined where there is no such file. */
  status(path: string): Promise<FileStatus | undefined>;
  /** Atomically puts `from` in the place of `to`. Not durable before `syncFolder`. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; one that is not there is fine. */
  remove(path: string): Promise<void>;
  /** Makes the folder and those above it where they are missing, with mode 0700; the names it made are durable. */
  makeFolder(path: string): Promise<void>;
  /** Resolves when the names in the folder would survive a loss of power. */
  syncFolder(path: string): Promise<void>;
  /**
   * Locks a name, one process at a time. A dead process cannot keep a lock. Resolves to undefined if one living process
   * held the name for `waitMs` (default 0: no waiting).
   */
  lock(path: string, waitMs?: number): Promise<Lock | undefined>;
  /** Whether a living process holds the name. Does not lock it. */
  isLocked(path: string): Promise<boolean>;
}
