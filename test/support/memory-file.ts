/**
 * A file in memory for code that only reads. A test decides how many bytes each read brings, and may replace it.
 */

import type { DiskFile } from "../../src/disk/disk.ts";

export interface MemoryFile extends DiskFile {
  /** May be replaced at any time, as by another process. */
  content: Buffer;
  /** How many bytes a read brings at most; called before each. */
  readMax: (position: number) => number;
}

export function memoryFile(content: Buffer): MemoryFile {
  const refused = (): Promise<never> => Promise.reject(new Error("this file is for reading only"));
  const file: MemoryFile = {
    content,
    readMax: () => Infinity,
    read: async (target, position) => {
      const end = position + Math.min(target.length, file.readMax(position));
      return file.content.subarray(position, end).copy(target);
    },
    size: () => file.content.length,
    stat: async () => ({ isInPlace: true, byteCount: file.content.length }),
    append: refused,
    overwrite: refused,
    sync: refused,
    truncate: refused,
    close: async () => undefined,
  };
  return file;
}
