/**
 * The keys of a data folder, for commands. In a free folder a command changes them itself; otherwise the process that
 * holds it does.
 */

import type { FolderSurroundings } from "../disk/disk.ts";
import { folderLockPath } from "../disk/lock.ts";
import { refuseRoot } from "../disk/owner.ts";
import { KeyCommands } from "../keys/key-commands.ts";
import { encodeKeyEvent } from "../keys/key-line.ts";
import type { KeyDecider } from "../keys/keys.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { send, succeeded, workOrAsk } from "./control-client.ts";
import { KeyFile } from "./key-file.ts";
import { clockOfSave, limitsFileName, loadLimits } from "./limits-file.ts";
import { openKeys } from "./open-keys.ts";

/** The keys of a data folder. */
export function folderKeys(options: FolderSurroundings): KeyDecider {
  const { disk, clock, dataDir } = options;
  return {
    /** The figures are as of the last save, also if a service runs. */
    list: async () => (await readKeys(options)).list(),
    async change(event) {
      if (event.event !== "made" && !(await disk.exists(dataDir))) {
        return (await readKeys(options)).change(event); // Makes no folder for a key that cannot be known.
      }
      await disk.makeFolder(dataDir);
      const work = async (): Promise<boolean | undefined> => {
        const lock = await disk.lock(folderLockPath(dataDir));
        if (lock === undefined) {
          return undefined;
        }
        const held = await openKeys(lock, options, () => undefined, await clockOfSave(disk, dataDir));
        return held.keys.change(event).finally(() => held.close());
      };
      const ask = async (): Promise<boolean> =>
        succeeded(await send(disk, dataDir, "change", encodeKeyEvent(event))).isDone;
      return workOrAsk(work, ask, clock);
    },
  };
}

/** Reads keys and limits as last saved. Writes nothing, so the keys of a read-only folder can be shown, too. */
async function readKeys(options: FolderSurroundings): Promise<KeyCommands> {
  const { clock, dataDir, disk, report } = options;
  await refuseRoot(dataDir);
  const readLimits = async (): Promise<MemoryLimiter> => {
    const limiter = new MemoryLimiter({ clock });
    const fault = await loadLimits(disk, dataDir, limiter);
    if (fault !== undefined) {
      report(`${limitsFileName} ${fault}; used requests and bans are not shown`, "warning");
    }
    return limiter;
  };
  return new KeyCommands(await KeyFile.open({ ...options, isReadOnly: true }), { clock, readLimits });
}
