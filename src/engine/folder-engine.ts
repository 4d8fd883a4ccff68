/**
 * The engine of one process: keys.jsonl, limits.json and pets.jsonl in a folder that it has locked.
 */

import { randomBytes } from "node:crypto";

import type { Clock } from "../disk/clock.ts";
import type { Disk } from "../disk/disk.ts";
import { messageOf } from "../disk/error-message.ts";
import { lockFolder } from "../disk/lock.ts";
import { bounds } from "../http/bounds.ts";
import { KeyStore } from "../keys/key-store.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { LimitsSnapshot } from "../limits/limits-file.ts";
import type { AppendTimes } from "../log/appender.ts";
import type { PetStore } from "../pets/pet-store.ts";
import { JsonLinesPetStore, openPetStore } from "../store/json-lines-pet-store.ts";
import type { Engine, EngineGauges } from "./engine.ts";

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

/**
 * Locks the folder and reads its files.
 *
 * @throws {FolderInUseError} another service or command uses the folder
 * @throws {DamagedLogError} pets.jsonl is damaged where no crash could have damaged it; it is unchanged
 * @throws {KeyError} its code is `key_file_damaged`: keys.jsonl is damaged
 */
export async function openFolder(options: FolderOptions): Promise<Engine> {
  const { clock, signal } = options;
  const lock = await lockFolder(options.disk, options.dataDir);
  // On a disk that has become read-only the name stays. It is stale once this process has ended, so nothing is lost.
  const release = (): Promise<void> => {
    return lock.release().catch((error: unknown) => options.report(`warning: ${messageOf(error)}`));
  };
  try {
    const limiter = new MemoryLimiter({ clock });
    const keys = await KeyStore.open({ ...options, randomBytes, onUnban: (keyId) => limiter.unban(keyId) });
    const unbannedMs = (keyId: string): number | undefined => keys.keyring.get(keyId)?.unbannedMs;
    const snapshot = await LimitsSnapshot.open({ ...options, lock, limiter, unbannedMs });
    signal?.throwIfAborted();
    const store = options.store ?? (await openPetStore(options));
    const saving = setInterval(() => void snapshot.save(), bounds.limitsSaveMs).unref();
    const close = async (): Promise<void> => {
      clearInterval(saving);
      try {
        await keys.close();
        await snapshot.save();
        await store.close();
      } finally {
        await release(); // Even if the store fails to close: the next service needs the folder.
      }
    };
    return { store, limiter, keys, gauges: () => gaugesOf(store, limiter), close };
  } catch (error) {
    await release();
    throw error;
  }
}

function gaugesOf(store: PetStore, { banCount, bannedKeyCount }: MemoryLimiter): EngineGauges {
  // An embedder's own store has no figures, and an embedder no metrics.
  const figures = store instanceof JsonLinesPetStore && { animalCount: store.animalCount, logBytes: store.logBytes };
  return { ...figures, banCount, bannedKeyCount };
}
