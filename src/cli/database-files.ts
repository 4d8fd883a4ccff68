/**
 * Moves files into a database and out of it, for `import` and `export`.
 */

import { join } from "node:path";

import { systemClock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { lockFolder } from "../disk/lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import type { PetStore } from "../pets/pet-store.ts";
import type { Query } from "../postgres/database.ts";
import { type Moved, moveCatalogueIn, moveFolderIn, type MoveOptions, type Source } from "../postgres/move-in.ts";
import { movedFileNames, moveOut } from "../postgres/move-out.ts";
import { PostgresPetStore } from "../postgres/postgres-pet-store.ts";
import { type DatabaseStorage, withDatabase } from "./database.ts";

type Report = MoveOptions["report"];

/** How long the answer to a statement may take that moves a piece. */
const pieceMs = 60_000;

/** Moves pets.jsonl. @throws {UsageError} @throws {Error} nothing was imported */
export async function importCatalogue(source: Source, storage: DatabaseStorage, report: Report): Promise<Moved> {
  return moveIn(source.path, storage, async (query) => {
    const animalCount = await moveCatalogueIn(query, source, optionsOf(report));
    if (animalCount === 0) {
      // It begins with an id, so it may be what the API lists: taken for a torn tail, it would be ignored as a whole.
      throw new Error("it has no line of a pets.jsonl; a NewPet has no id");
    }
    return { animalCount, keyCount: 0 };
  });
}

/** Moves a data folder that no server holds. @throws {UsageError} @throws {Error} nothing was imported */
export async function importFolder(folder: string, storage: DatabaseStorage, report: Report): Promise<Moved> {
  if ((await filesIn(folder)).length === 0) {
    throw new Error(`Cannot import ${folder}: it has none of ${movedFileNames.join(", ")}`);
  }
  const lock = await lockFolder(nodeDisk, folder);
  try {
    return await moveIn(folder, storage, (query) => moveFolderIn(query, folder, optionsOf(report)));
  } finally {
    await lock.release();
  }
}

async function moveIn(path: string, storage: DatabaseStorage, move: (query: Query) => Promise<Moved>): Promise<Moved> {
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
 * Writes a data folder. The files get their names when all are on disk, so that no server takes a part for the whole.
 *
 * @throws {UsageError} @throws {Error} the folder has such files already, or they cannot be written
 */
export async function exportFolder(folder: string, storage: DatabaseStorage, report: Report): Promise<Moved> {
  return withDatabase(storage, async (database) => {
    const lock = await lockFolder(nodeDisk, folder);
    const newPath = (name: string): string => join(folder, `${name}.exported`);
    try {
      const [taken] = await filesIn(folder);
      if (taken !== undefined) {
        throw new Error(`Cannot export to ${folder}: it has a ${taken} already`);
      }
      await removeAll(newPath); // A crash may have left some.
      const moved = await database.transaction((query) => moveOut(query, newPath, optionsOf(report)), pieceMs);
      // The catalogue first: if this process dies in between, no server finds keys without animals and gives ids again.
      for (const name of movedFileNames.toReversed()) {
        if ((await nodeDisk.status(newPath(name))) !== undefined) {
          await nodeDisk.rename(newPath(name), join(folder, name));
        }
      }
      await nodeDisk.syncFolder(folder);
      return moved;
    } catch (error) {
      await removeAll(newPath);
      throw error;
    } finally {
      await lock.release();
    }
  });
}

/** The names of the files of a data folder that are there. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const statuses = await Promise.all(movedFileNames.map((name) => nodeDisk.status(join(folder, name))));
  return movedFileNames.filter((_name, index) => statuses[index] !== undefined);
}

async function removeAll(pathOf: (name: string) => string): Promise<void> {
  for (const name of movedFileNames) {
    await nodeDisk.remove(pathOf(name));
  }
}

function optionsOf(report: Report): MoveOptions {
  return { disk: nodeDisk, clock: systemClock, report };
}
