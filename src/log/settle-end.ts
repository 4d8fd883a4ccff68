/** What a start does with the end of a log before anything is appended. A start that cannot do it fails. */

import { dirname } from "node:path";

import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import type { Disk, DiskFile } from "../disk/disk.ts";
import { appendAll, readBytes } from "../disk/file-bytes.ts";
import { type CorruptEnd, type LogEnd, tornText } from "./reader.ts";

export interface LogToSettle {
  readonly disk: Disk;
  readonly path: string;
  readonly file: DiskFile;
  /** As `readLog` found it. */
  readonly end: Exclude<LogEnd, CorruptEnd>;
  readonly groupBytesMax: number;
  /** What it means that a torn tail is set aside, in words. */
  readonly tornEffect: string;
  readonly report: Report;
}

/**
 * Writes the last group over itself, and moves a torn tail to `PATH.torn`. When this resolves, file and name are
 * durable, and the file is its intact part.
 *
 * A failed sync leaves its bytes in the kernel's memory, marked as written, and later syncs skip them (PostgreSQL's
 * "fsyncgate"). A process that opens a log cannot know whether that happened to the last group, and an intact line
 * after a hole would look like corruption. Bytes that are written again belong to the next sync.
 *
 * @throws {Error} naming the file and what to do. The log is as it was, or a torn tail is on disk beside it: the next
 *   attempt begins anew. Attempts on a full disk take no space.
 */
export async function settleEnd(log: LogToSettle): Promise<void> {
  const { disk, path, file, end, groupBytesMax, tornEffect, report } = log;
  const { kind, lengthBytes } = end;
  const sizeBytes = lengthBytes + (kind === "torn" ? end.tornBytes : 0);
  const position = Math.max(lengthBytes - groupBytesMax, 0); // No group is longer, so this includes the last one.
  const bytes = await readBytes(file, sizeBytes - position, position);
  const asidePath = `${path}.torn`;
  try {
    const { isInPlace, byteCount } = await file.stat();
    if (!isInPlace || byteCount !== sizeBytes) {
      throw new Error("another process modified or replaced it"); // What it wrote has not been read.
    }
    if (lengthBytes > 0) {
      await file.overwrite(bytes.subarray(0, lengthBytes - position), position);
    }
    if (kind === "torn") {
      await appendDurably(disk, asidePath, bytes.subarray(lengthBytes - position));
      await file.truncate(lengthBytes);
      report(`${tornText(path, end)}; it was moved to ${asidePath}, and ${tornEffect}`, "warning");
    }
    await file.sync();
    await disk.syncFolder(dirname(path));
  } catch (error) {
    const failed = kind === "torn"
      ? `${tornText(path, end)}, which cannot be moved to ${asidePath}`
      : `the end of ${path} cannot be written again`;
    const advice = "nothing is lost: remove the cause, such as a full disk, and start again";
    throw new Error(`${failed} (${messageOf(error)}); ${advice}`, { cause: error });
  }
}

/** When this resolves, the bytes are on disk. If it fails, it is undone. */
async function appendDurably(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const file = await disk.openToAppend(path);
  const sizeBefore = file.size();
  try {
    await appendAll(file, bytes);
    await file.sync();
    await disk.syncFolder(dirname(path));
  } catch (error) {
    const undoing = sizeBefore === 0 ? disk.remove(path) : file.truncate(sizeBefore);
    await undoing.catch(() => undefined); // The first failure is the one to report.
    throw error;
  } finally {
    await file.close();
  }
}
