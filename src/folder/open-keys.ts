/** Opens keys and limits of a locked folder, for a service, or for a command that changes a key. */

import { clearInterval, setInterval } from "node:timers";

import { messageOf } from "../base/error-message.ts";
import type { FolderSurroundings, Lock } from "../disk/disk.ts";
import { KeyCommands } from "../keys/key-commands.ts";
import type { Lift } from "../keys/key-events.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import type { PetStore } from "../pets/pet-store.ts";
import { openControlServer } from "./control-server.ts";
import { KeyFile } from "./key-file.ts";
import { openLimitsFile } from "./limits-file.ts";

/** How often limits are saved. A kill -9 loses the last 5 s at most. */
const limitsSaveMs = 3_000;

export interface OpenKeys {
  readonly keys: KeyCommands;
  readonly limiter: MemoryLimiter;
  /** Resolves when everything is durable, and the folder is free. */
  close(): Promise<void>;
}

/**
 * Opens keys and limits of a locked folder, and from then on does what commands ask for over the control socket.
 * @param store the catalogue, once it is open
 * @param limitsClock what the limits are read and saved by
 */
export async function openKeys(
  lock: Lock,
  options: FolderSurroundings,
  store: () => PetStore | undefined,
  limitsClock = options.clock,
): Promise<OpenKeys> {
  const { clock, report } = options;
  // If the disk is read-only by then, the lock's name stays, but is stale once this process has ended.
  const release = (): Promise<void> =>
    lock.release().catch((error: unknown) => report(messageOf(error), "warning"));
  let keyFile: KeyFile | undefined;
  try {
    const limiter = new MemoryLimiter({ clock: limitsClock });
    const onGrant = async (lift: Lift, id: string): Promise<void> => {
      limiter[lift](id);
      const failure = await limitsFile.save(); // A start does not apply it again.
      if (failure !== undefined) {
        throw new Error(failure);
      }
    };
    const opened = (keyFile = await KeyFile.open({ ...options, onGrant }));
    const limitsFile = await openLimitsFile({ ...options, lock, limiter });
    const keys = new KeyCommands(opened, { clock, readLimits: async () => limiter });
    const closeControlServer = openControlServer(lock, { keys, store, report });
    const saving = setInterval(() => {
      void opened.check();
      void limitsFile.save();
    }, limitsSaveMs).unref();
    const close = async (): Promise<void> => {
      clearInterval(saving);
      await closeControlServer();
      await keys.close();
      await limitsFile.save();
      await release();
    };
    return { keys, limiter, close };
  } catch (error) {
    await keyFile?.close();
    await release();
    throw error;
  }
}
