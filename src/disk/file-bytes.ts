import type { DiskFile } from "./disk.ts";
import { counted } from "../base/counted.ts";

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

/** The file as if it ended at `endBytes`. */
export function upTo(file: ReadableFile, endBytes: number): ReadableFile {
  return {
    read: (target, position) => file.read(target.subarray(0, Math.max(endBytes - position, 0)), position),
    size: () => endBytes,
  };
}

/** @throws {Error} if the disk takes fewer bytes, as a full one does */
export async function appendAll(file: DiskFile, bytes: Uint8Array): Promise<void> {
  const count = await file.append(bytes);
  if (count !== bytes.length) {
    throw new Error(`only ${count} of ${counted(bytes.length, "byte")} could be written; the disk may be full`);
  }
}
