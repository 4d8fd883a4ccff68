/**
 * Moves files into a database and out of it, for `import` and `export`.
 */

import { join } from "node:path";

import { systemClock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { lockFolder } from "../disk/lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { checkWhole, fillFolder } from "../disk/whole-folder.ts";
import type { PetStore } from "../pets/pet-store.ts";
import type { Query } from "../postgres/database.ts";
import { type Moved, moveCatalogueIn, moveFolderIn, type MoveOptions, type Source } from "../postgres/move-in.ts";
import { movedFileNames, moveOut } from "../postgres/move-out.ts";
import { PostgresPetStore } from "../postgres/postgres-pet-store.ts";
import { type DatabaseStorage, withDatabase } from "./database.ts";

type Report = MoveOptions["report"];

/** How long the answer to a statement may take that moves a piece. */
const pieceMs = 60_000;

/** Moves pets.jsonl. Resolves to the number of animals. @throws {UsageError} @throws {Error} nothing was imported */
export async function importCatalogue(source: Source, storage: DatabaseStorage, report: Report): Promise<number> {
  return moveIn(source.path, storage, async (query) => {
    const animalCount = await moveCatalogueIn(query, source, optionsOf(report));
    if (animalCount === 0) {
      // It begins with an id, so it may be what the API lists: taken for a torn tail, it would be ignored as a whole.
      throw new Error("it has no line of a pets.jsonl; a NewPet has no id");
    }
    return animalCount;
  });
}

/** Moves a data folder that no server holds. @throws {UsageError} @throws {Error} nothing was imported */
export async function importFolder(folder: string, storage: DatabaseStorage, report: Report): Promise<Moved> {
  const statuses = await Promise.all(movedFileNames.map((name) => nodeDisk.status(join(folder, name))));
  if (statuses.every((status) => status === undefined)) {
    throw new Error(`Cannot import ${folder}: it has none of ${movedFileNames.join(", ")}`);
  }
  const lock = await lockFolder(nodeDisk, folder);
  try {
    await checkWhole(nodeDisk, folder);
    return await moveIn(folder, storage, (query) => moveFolderIn(query, folder, optionsOf(report)));
  } finally {
    await lock.release();
  }
}

async function moveIn<Result>(
  path: string,
  storage: DatabaseStorage,
  move: (query: Query) => Promise<Result>,
): Promise<Result> {
  return withDatabase(storage, async (database) => {
    let isCommitting = false;
    try {
      return await database.transaction(async (query) => {
        const moved = await move(query);
        isCommitting = true;
        return moved;
      }, pieceMs);
    } catch (error) {
      const outcome = isCommitting ? "all of it may have been imported: see check" : "nothing was imported";
      throw new Error(`Cannot import ${path}: ${messageOf(error)}; ${outcome}`, { cause: error });
    }
  });
}

/** Runs `use` with the catalogue. @throws {UsageError} the database cannot be used */
export async function withDatabasePets(
  storage: DatabaseStorage,
  use: (store: PetStore) => Promise<void>,
): Promise<void> {
  return withDatabase(storage, (database) => use(new PostgresPetStore(database, systemClock)));
}

/**
 * Writes a data folder.
 *
 * @throws {UsageError} @throws {Error} the folder has such files already, or they cannot be written
 */
export async function exportFolder(folder: string, storage: DatabaseStorage, report: Report): Promise<Moved> {
  return withDatabase(storage, async (database) => {
    const lock = await lockFolder(nodeDisk, folder);
    try {
      return await fillFolder(nodeDisk, folder, movedFileNames, () => {
        return database.transaction((query) => moveOut(query, folder, optionsOf(report)), pieceMs);
      });
    } finally {
      await lock.release();
    }
  });
}

function optionsOf(report: Report): MoveOptions {
  return { disk: nodeDisk, clock: systemClock, report };
}
