/**
 * Appends to a log that several processes write, each time under the log's own lock.
 */

import { dirname } from "node:path";

import type { Disk, DiskFile } from "../disk/disk.ts";
import { counted } from "../base/error-message.ts";
import { appendAll } from "../disk/file-bytes.ts";
import { lineBytesMax } from "./reader.ts";
import { rewriteTail, setTornTailAside } from "./torn-tail.ts";

/** A holder writes one line and syncs it. On a slow disk that takes a while; a stopped process takes for ever. */
const holderWaitMs = 10_000;

/** Runs `work` under the lock of the log. @throws {Error} if another process holds the lock for ten seconds */
export async function underLock<Result>(disk: Disk, path: string, work: () => Promise<Result>): Promise<Result> {
  const lock = await disk.lock(`${path}.lock`, holderWaitMs);
  if (lock === undefined) {
    throw new Error(`Cannot lock ${path}: another process has held the lock for ${holderWaitMs / 1_000} s`);
  }
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

export interface LogUpdate {
  /** Lines with checksums to append. Even if there are none, what was read is synced. */
  readonly lines: readonly string[];
  /** Bytes of the sound part. What follows it is a torn tail, which is set aside first. */
  readonly lengthBytes: number;
}

/**
 * Appends to a log that was read under the lock, which the caller still holds. When this resolves, the lines and all
 * that was read are on disk.
 *
 * @returns the file to which a torn tail was moved
 * @throws {Error} if the disk fails, or another process replaced the log. Then nothing was appended, unless truncating
 *   the log failed as well
 */
export async function appendLines(disk: Disk, path: string, update: LogUpdate): Promise<string | undefined> {
  const { lines, lengthBytes } = update;
  const existing = await disk.status(path);
  const file = await disk.openToAppend(path);
  try {
    return await append(disk, path, file, { bytes: Buffer.from(lines.join("")), lengthBytes });
  } catch (error) {
    if (existing === undefined && file.isInPlace()) {
      // An empty log would look as if its lines had been lost. The first failure is the one to report.
      await disk.remove(path).catch(() => undefined);
    }
    throw error;
  } finally {
    await file.close();
  }
}

async function append(
  disk: Disk,
  path: string,
  file: DiskFile,
  { bytes, lengthBytes }: { readonly bytes: Uint8Array; readonly lengthBytes: number },
): Promise<string | undefined> {
  const aside = await makeReady(disk, path, file, lengthBytes);
  try {
    await appendAll(file, bytes);
    await file.sync();
    await disk.syncFolder(dirname(path));
    if (!file.isInPlace()) {
      throw new Error(`${path} leads to another file: another process modified or replaced it`);
    }
    return aside;
  } catch (error) {
    await file.truncate(lengthBytes);
    await file.sync(); // Otherwise a loss of power could bring back lines that were reported as failed.
    throw error;
  }
}

async function makeReady(
  disk: Disk,
  path: string,
  file: DiskFile,
  lengthBytes: number,
): Promise<string | undefined> {
  const foundBytes = file.size();
  if (foundBytes < lengthBytes) {
    const difference = `${counted(foundBytes, "byte")} instead of ${lengthBytes}`;
    throw new Error(`${path} has ${difference}: another process modified or replaced it`);
  }
  const aside = foundBytes > lengthBytes ? await setTornTailAside(disk, path, file, lengthBytes) : undefined;
  await rewriteTail(disk, path, file, { lengthBytes, bytesMax: lineBytesMax + 1 });
  return aside;
}
