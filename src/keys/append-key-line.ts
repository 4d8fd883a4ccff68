/**
 * Appends a line to keys.jsonl, whose lock the caller holds and which it has read.
 */

import { dirname } from "node:path";

import { messageOf } from "../base/error-message.ts";
import type { Disk } from "../disk/disk.ts";
import { Appender } from "../log/appender.ts";
import { lineBytesMax } from "../log/reader.ts";
import { rewriteTail, setTornTailAside } from "../log/torn-tail.ts";

export interface KeyLinePlace {
  readonly path: string;
  /** Of the sound lines. */
  readonly lengthBytes: number;
  /** Whether an unfinished line follows them, which is set aside. */
  readonly isTorn: boolean;
}

/**
 * When this resolves, the line and all before it are on disk. An empty line makes durable what was read.
 *
 * @throws {Error} whose text says whether the change may have been stored
 */
export async function appendKeyLine(
  line: Buffer,
  { path, lengthBytes, isTorn }: KeyLinePlace,
  { disk, report }: { readonly disk: Disk; readonly report: (message: string) => void },
): Promise<void> {
  const existing = await disk.status(path);
  const file = await disk.openToAppend(path);
  const prepare = async (): Promise<void> => {
    if (isTorn) {
      const aside = await setTornTailAside(disk, path, file, lengthBytes);
      report(`warning: the unfinished line at the end of ${path} was moved to ${aside}`);
    }
    await rewriteTail(disk, path, file, { lengthBytes, bytesMax: lineBytesMax });
  };
  // What the appender would report is thrown.
  const appender = new Appender({ file, path, lengthBytes, prepare, report: () => undefined });
  let effect = "may have been stored: list the keys";
  try {
    const outcome = await appender.append(line);
    await appender.close();
    if ("kind" in outcome) {
      effect = outcome.kind === "absent" ? "was not stored" : effect;
      throw new Error(outcome.reason);
    }
    await disk.syncFolder(dirname(path));
  } catch (error) {
    if (existing === undefined && file.isInPlace()) {
      // An empty file would look as if its lines had been lost. The first failure is the one to report.
      await disk.remove(path).catch(() => undefined);
    }
    throw new Error(`Cannot change keys: ${messageOf(error)}, so the change ${effect}`, { cause: error });
  }
}
