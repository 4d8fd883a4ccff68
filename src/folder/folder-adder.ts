/**
 * Adds animals to a data folder, for an import: by itself if the folder is free, else through the process that holds
 * it, which may be another one at each batch. A batch is sent again only where it certainly was not added, as
 * control-client.ts says.
 */

import type { Disk, FolderSurroundings } from "../disk/disk.ts";
import { folderLockPath } from "../disk/lock.ts";
import type { Engine } from "../engine.ts";
import { addBatch, type Added } from "../pets/add-in-batches.ts";
import { type NewPet, newPetToJson } from "../pets/pet.ts";
import { send, workOrAsk } from "./control-client.ts";
import { NotReadyError } from "./control-protocol.ts";
import { openLockedFolder } from "./engine.ts";

/** How long a folder that another process held is left to its next owner, as in a restart. */
const restartMs = 15_000;

/** How long an owner may take to be ready: it may have a large catalogue to read. */
const readyMs = 120_000;

/** Adds animals to a data folder. @param stopping ends waiting, with its reason */
export function folderAdder(options: FolderSurroundings, stopping: AbortSignal) {
  const { disk, clock, dataDir } = options;
  let engine: Engine | undefined; // Defined once this process holds the folder.
  let mayTakeFromMs = -Infinity;
  const work = async (newPets: readonly NewPet[]): Promise<Added | undefined> => {
    stopping.throwIfAborted();
    if (engine === undefined && clock.monotonicMs() >= mayTakeFromMs) {
      const lock = await disk.lock(folderLockPath(dataDir));
      engine = lock && (await openLockedFolder(lock, options));
    }
    return engine && addBatch(engine.store, newPets);
  };
  const ask = async (newPets: readonly NewPet[]): Promise<Added> => {
    const added = await addThroughSocket(disk, dataDir, newPets);
    mayTakeFromMs = clock.monotonicMs() + restartMs;
    return added;
  };
  return {
    /** Retries a batch while nothing of it was added. @throws {Error} it gave up, and nothing was added */
    add: (newPets: readonly NewPet[]) => workOrAsk(() => work(newPets), () => ask(newPets), clock, readyMs),
    /** Resolves when the folder is free, if this process held it. */
    close: async () => engine?.close(),
  };
}

/** Adds a batch of animals through the process that holds the folder. @throws {Error} nothing was added */
async function addThroughSocket(disk: Disk, dataDir: string, newPets: readonly NewPet[]): Promise<Added> {
  const content = newPets.map((newPet) => `${newPetToJson(newPet)}\n`).join("");
  const { lines: [line = "{}"], failure } = await send(disk, dataDir, "add", content);
  if (failure instanceof NotReadyError) {
    throw failure;
  }
  const { added = 0 } = JSON.parse(line) as { readonly added?: number };
  return { addedCount: added, failure };
}
