/** The engine of a data folder, which it locks. */

import { randomBytes } from "node:crypto";
import { clearInterval, setInterval } from "node:timers";

import type { Clock } from "./base/clock.ts";
import { messageOf } from "./base/error-message.ts";
import type { Disk } from "./disk/disk.ts";
import { lockFolder } from "./disk/lock.ts";
import type { Engine } from "./engine.ts";
import { KeyStore } from "./keys/key-store.ts";
import type { Relief } from "./keys/key.ts";
import { MemoryLimiter } from "./limits/memory-limiter.ts";
import { LimitsFile } from "./limits/limits-file.ts";
import type { AppendTimes } from "./log/appender.ts";
import type { PetStore } from "./pets/pet-store.ts";
import { JsonLinesPetStore, openPetStore } from "./store/json-lines-pet-store.ts";

/** How often limits are saved. A kill -9 loses the last 5 s at most. */
const limitsSaveMs = 3_000;

export interface FolderOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly dataDir: string;
  readonly report: (message: string) => void;
  /** Ends the opening: it rejects with the signal's reason, and the folder is free again. */
  readonly signal: AbortSignal | undefined;
  /** The catalogue of an embedder, in place of pets.jsonl. */
  readonly store: PetStore | undefined;
  readonly onGroup: (times: AppendTimes) => void;
}

/** Locks the folder and reads its files. @throws {Error} as `openAnimalStore` */
export async function openFolder(options: FolderOptions): Promise<Engine> {
  const { clock, signal } = options;
  const lock = await lockFolder(options.disk, options.dataDir);
  // On a disk that has become read-only the name stays. It is stale once this process has ended, so nothing is lost.
  const release = (): Promise<void> =>
    lock.release().catch((error: unknown) => options.report(`warning: ${messageOf(error)}`));
  try {
    const limiter = new MemoryLimiter({ clock });
    const onRelief = ({ event, id }: Relief): void => (event === "reset" ? limiter.reset(id) : limiter.unban(id));
    const readLimits = async (): Promise<MemoryLimiter> => limiter;
    const keys = await KeyStore.open({ ...options, randomBytes, locksReads: true, onRelief, readLimits });
    const limitsFile = await LimitsFile.open({ ...options, lock, limiter, reliefs: keys.keyring });
    signal?.throwIfAborted();
    const store = options.store ?? (await openPetStore({ ...options, randomBytes }));
    const saving = setInterval(() => void limitsFile.save(), limitsSaveMs).unref();
    const close = async (): Promise<void> => {
      clearInterval(saving);
      try {
        await store.close(); // First: no more animals are taken, and those under way count in the limits.
      } finally {
        await keys.close();
        await limitsFile.save();
        await release(); // Even if the store fails to close: the next service needs the folder.
      }
    };
    // An embedder's own store has no figures.
    const ownStore = store instanceof JsonLinesPetStore ? store : undefined;
    const gauges: Engine["gauges"] = () => ({
      ...(ownStore && { animalCount: ownStore.animalCount, logBytes: ownStore.logBytes }),
      banCount: limiter.banCount,
      bannedKeyCount: limiter.bannedKeyCount,
    });
    return { store, limiter, keys, gauges, countAnimals: async () => ownStore?.animalCount, close };
  } catch (error) {
    await release();
    throw error;
  }
}
