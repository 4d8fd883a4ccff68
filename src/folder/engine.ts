/** The engine of a data folder, which it locks. */

import { randomBytes } from "node:crypto";
import { clearInterval, setInterval } from "node:timers";

import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import type { Disk, Lock } from "../disk/disk.ts";
import { lockFolder } from "../disk/lock.ts";
import { openDoor } from "./door.ts";
import type { Engine } from "../engine.ts";
import { KeyFile } from "./key-file.ts";
import { KeyStore } from "../keys/key-store.ts";
import type { RandomBytes, Relief } from "../keys/key.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { openLimitsFile } from "./limits-file.ts";
import type { AppendTimes } from "../log/appender.ts";
import type { PetStore } from "../pets/pet-store.ts";
import { JsonLinesPetStore, openPetStore } from "../store/json-lines-pet-store.ts";

/** How often limits are saved. A kill -9 loses the last 5 s at most. */
const limitsSaveMs = 3_000;

export interface FolderOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly dataDir: string;
  readonly report: Report;
  /** Ends the opening: it rejects with the signal's reason, and the folder is free again. */
  readonly signal: AbortSignal | undefined;
  /** The catalogue of an embedder, in place of pets.jsonl. */
  readonly store: PetStore | undefined;
  readonly onGroup: (times: AppendTimes) => void;
}

/** Locks the folder and opens it. @throws {Error} as `openAnimalStore` */
export async function openFolder(options: FolderOptions): Promise<Engine> {
  return openLockedFolder(await lockFolder(options.disk, options.dataDir), options);
}

/** As `openFolder`, of a folder that is locked. Releases the lock when it is closed, or fails. */
export async function openLockedFolder(lock: Lock, options: FolderOptions): Promise<Engine> {
  let opened: PetStore | undefined;
  const held = await holdKeys(lock, options, () => opened);
  const { keys, limiter } = held;
  try {
    options.signal?.throwIfAborted();
    opened = options.store ?? (await openPetStore({ ...options, randomBytes }));
  } catch (error) {
    await held.close();
    throw error;
  }
  const store = opened;
  // An embedder's own store has no figures.
  const ownStore = store instanceof JsonLinesPetStore ? store : undefined;
  return {
    store,
    limiter,
    keys,
    gauges: () => ({
      ...(ownStore && { animalCounts: ownStore.animalCounts, logBytes: ownStore.logBytes }),
      banCount: limiter.banCount,
      bannedKeyCount: limiter.bannedKeyCount,
    }),
    countAnimals: async () => ownStore?.animalCount,
    async close() {
      try {
        await store.close(); // First: no more animals are taken, and those under way count in the limits.
      } finally {
        await held.close(); // Even if the store fails to close: the next service needs the folder.
      }
    },
  };
}

export interface HeldKeys {
  readonly keys: KeyStore;
  readonly limiter: MemoryLimiter;
  /** Resolves when everything is durable, and the folder is free. */
  close(): Promise<void>;
}

/**
 * Opens keys and limits of a locked folder, and from then on does what commands ask for through the door.
 * @param store the catalogue, once it is open
 */
export async function holdKeys(
  lock: Lock,
  options: Pick<FolderOptions, "disk" | "clock" | "dataDir" | "report"> & { readonly randomBytes?: RandomBytes },
  store: () => PetStore | undefined,
): Promise<HeldKeys> {
  const { clock, report } = options;
  // On a disk that has become read-only the name stays. It is stale once this process has ended, so nothing is lost.
  const release = (): Promise<void> =>
    lock.release().catch((error: unknown) => report(messageOf(error), "warning"));
  let keyFile: KeyFile | undefined;
  try {
    const limiter = new MemoryLimiter({ clock });
    const onRelief = ({ event, id }: Relief): void => (event === "reset" ? limiter.reset(id) : limiter.unban(id));
    const opened = (keyFile = await KeyFile.open({ ...options, onRelief }));
    const limitsFile = await openLimitsFile({ ...options, lock, limiter, reliefs: opened.keyring });
    const keys = new KeyStore(opened, { randomBytes, ...options, readLimits: async () => limiter });
    const door = openDoor(lock, { keys, store, report });
    const saving = setInterval(() => {
      opened.check();
      void limitsFile.save();
    }, limitsSaveMs).unref();
    const close = async (): Promise<void> => {
      clearInterval(saving);
      await door.close();
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
