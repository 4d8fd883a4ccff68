/** Opens the engine of a data folder: the lock, the keys, the limits and the catalogue. */

import type { FolderSurroundings, Lock } from "../disk/disk.ts";
import { lockFolder } from "../disk/lock.ts";
import type { Engine } from "../engine.ts";
import type { AppendTimes } from "../log/appender.ts";
import type { PetStore } from "../pets/pet-store.ts";
import { type JsonLinesPetStore, openPetStore } from "../store/json-lines-pet-store.ts";
import { openKeys } from "./open-keys.ts";

export interface FolderOptions extends FolderSurroundings {
  /** Ends the opening: it rejects with the signal's reason, and the folder is free again. */
  readonly signal?: AbortSignal | undefined;
  readonly onGroup?: (times: AppendTimes) => void;
}

/** Locks the folder and opens it. @throws {Error} as `openAnimalStore` */
export async function openFolder(options: FolderOptions): Promise<Engine> {
  return openLockedFolder(await lockFolder(options.disk, options.dataDir), options);
}

/** Opens a folder that is locked already. The lock is released when the engine is closed, or if this fails. */
export async function openLockedFolder(lock: Lock, options: FolderOptions): Promise<Engine> {
  let opened: PetStore | undefined;
  const held = await openKeys(lock, options, () => opened);
  const { keys, limiter } = held;
  let store: JsonLinesPetStore;
  try {
    options.signal?.throwIfAborted();
    opened = store = await openPetStore(options);
  } catch (error) {
    await held.close();
    throw error;
  }
  return {
    store,
    limiter,
    keys,
    gauges: () => ({
      animalCounts: store.animalCounts,
      logBytes: store.logBytes,
      isWriteFailing: store.isWriteFailing,
      banCount: limiter.banCount,
      bannedKeyCount: limiter.bannedKeyCount,
    }),
    countAnimals: async () => store.animalCount,
    async close() {
      opened = undefined; // What commands would add waits for the next owner.
      try {
        await store.close(); // First: no more animals are taken, and those under way count in the limits.
      } finally {
        await held.close(); // Even if a file cannot be closed: the next service needs the folder.
      }
    },
  };
}
