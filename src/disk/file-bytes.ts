/** Reads and writes files over the interface of disk.ts, whatever their content. */

import { dirname } from "node:path";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import { pluralize } from "../base/pluralize.ts";
import type { Disk, DiskFile } from "./disk.ts";

export type ReadableFile = Pick<DiskFile, "read" | "size">;

/** Reads until `target` is full or the file ends. Resolves to the number of bytes read. */
export async function readFully(file: ReadableFile, target: Uint8Array, position: number): Promise<number> {
  let filled = 0;
  while (filled < target.length) {
    const count = await file.read(target.subarray(filled), position + filled);
    if (count === 0) {
      break;
    }
    filled += count;
  }
  return filled;
}

/** The `byteCount` bytes from `position` on, or those of them that the file has. */
export async function readBytes(file: ReadableFile, byteCount: number, position = 0): Promise<Buffer> {
  const bytes = Buffer.alloc(byteCount);
  return bytes.subarray(0, await readFully(file, bytes, position));
}

/** The file as if it ended at `endBytes`. */
export function upTo(file: ReadableFile, endBytes: number): ReadableFile {
  return {
    read: (target, position) => file.read(target.subarray(0, Math.max(endBytes - position, 0)), position),
    size: () => endBytes,
  };
}

/** The bytes as a file. */
export function fileOf(bytes: Buffer): ReadableFile {
  return { read: async (target, position) => bytes.subarray(position).copy(target), size: () => bytes.length };
}

const pieceBytes = 1_048_576;

/** @throws {Error} if the disk takes fewer bytes, as a full one does */
export async function appendAll(file: DiskFile, bytes: Uint8Array): Promise<void> {
  const count = await file.append(bytes);
  if (count !== bytes.length) {
    throw new Error(`only ${count} of ${pluralize(bytes.length, "byte")} could be written; the disk may be full`);
  }
}

/**
 * Yields each line of a text without its newline. The last line may have none. A line longer than `lineBytesMax` is cut
 * to one byte more than that: memory stays bounded, and the caller sees that it is too long.
 */
export async function* readLines(file: Pick<ReadableFile, "read">, lineBytesMax: number): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.allocUnsafe(pieceBytes);
  let rest = Buffer.alloc(0);
  for (let position = 0, byteCount = 0; (byteCount = await file.read(chunk, position)) > 0; position += byteCount) {
    let start = 0;
    for (let end = 0; (end = chunk.subarray(0, byteCount).indexOf("\n", start)) !== -1; start = end + 1) {
      yield Buffer.concat([rest, chunk.subarray(start, end)]).subarray(0, lineBytesMax + 1);
      rest = Buffer.alloc(0);
    }
    rest = Buffer.concat([rest, chunk.subarray(start, byteCount)]).subarray(0, lineBytesMax + 1);
  }
  if (rest.length > 0) {
    yield rest;
  }
}

/** Replaces a file atomically: readers find the old content or the new, also after a loss of power or a failure. */
export async function replaceFile(disk: Disk, path: string, pieces: Iterable<string>): Promise<void> {
  const newPath = `${path}.new`;
  await disk.remove(newPath); // A crash may have left half of one.
  try {
    await writeFile(disk, newPath, pieces);
    await disk.rename(newPath, path);
  } catch (error) {
    await disk.remove(newPath).catch(() => undefined); // If this fails too, the next attempt removes it.
    throw error;
  }
  await disk.syncFolder(dirname(path));
}

/** Writes and syncs a new file, with a turn of the event loop after each piece. Does not sync the file's name. */
export async function writeFile(
  disk: Disk,
  path: string,
  pieces: Iterable<string | Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<void> {
  const file = await disk.openToAppend(path);
  try {
    for await (const piece of pieces) {
      await appendAll(file, Buffer.from(piece));
      await eventLoopTurn();
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Resolves to undefined if there is no such file. */
export async function readWholeFile(disk: Disk, path: string): Promise<Buffer | undefined> {
  const file = await disk.openToRead(path);
  if (file === undefined) {
    return undefined;
  }
  return readBytes(file, file.size()).finally(() => file.close());
}
