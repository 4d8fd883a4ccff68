/** Opens the engine of a data folder: the lock, the keys, the limits and the catalogue. */

import type { FolderSurroundings, Lock } from "../disk/disk.ts";
import { lockFolder } from "../disk/lock.ts";
import type { Engine } from "../engine.ts";
import type { AppendTimes } from "../log/appender.ts";
import type { PetStore } from "../pets/pet-store.ts";
import { JsonLinesPetStore, openPetStore } from "../store/json-lines-pet-store.ts";
import { openKeys } from "./open-keys.ts";

export interface FolderOptions extends FolderSurroundings {
  /** Ends the opening: it rejects with the signal's reason, and the folder is free again. */
  readonly signal?: AbortSignal | undefined;
  /** The catalogue of an embedder, in place of pets.jsonl. */
  readonly store?: PetStore | undefined;
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
  try {
    options.signal?.throwIfAborted();
    opened = options.store ?? (await openPetStore(options));
  } catch (error) {
    await held.close();
    throw error;
  }
  const store = opened;
  // An embedder's own store has no such figures.
  const ownStore = store instanceof JsonLinesPetStore ? store : undefined;
  return {
    store,
    limiter,
    keys,
    gauges: () => ({
      ...(ownStore && {
        animalCounts: ownStore.animalCounts,
        logBytes: ownStore.logBytes,
        isWriteFailing: ownStore.isWriteFailing,
      }),
      banCount: limiter.banCount,
      bannedKeyCount: limiter.bannedKeyCount,
    }),
    countAnimals: async () => ownStore?.animalCount,
    async close() {
      opened = undefined; // What commands would add waits for the next owner.
      try {
        await store.close(); // First: no more animals are taken, and those under way count in the limits.
      } finally {
        await held.close(); // Even if the store fails to close: the next service needs the folder.
      }
    },
  };
}
