/**
 * The limits that a server saved last, for commands. They read the file and change nothing.
 */

import type { Clock } from "../disk/clock.ts";
import type { Disk } from "../disk/disk.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { LimitsSnapshot, type LimitsSnapshotOptions } from "../limits/limits-file.ts";

type Options = Omit<LimitsSnapshotOptions, "limiter"> & { readonly clock: Clock };

/**
 * Restores the limits as a start would. A damaged file is reported, and left where it is.
 *
 * @throws {Error} the file cannot be read
 */
export async function savedLimits(options: Options): Promise<MemoryLimiter> {
  const limiter = new MemoryLimiter({ clock: options.clock });
  await LimitsSnapshot.open({ ...options, disk: withoutChanges(options.disk), limiter });
  return limiter;
}

function withoutChanges(disk: Disk): Disk {
  const done = (): Promise<void> => Promise.resolve();
  return { ...disk, rename: done, remove: done, syncFolder: done };
}
