/** What `import` moves into a database. */

import { messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import { lockFolder } from "../disk/lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import type { Query } from "../postgres/database.ts";
import { type Source, transferCatalogue, transferFolder, type Transferred } from "../transfer/import-to-postgres.ts";
import { type DatabaseStorage, withDatabase } from "./database.ts";
import { mustHaveFiles, pieceMs, surroundingsOf, transferredInWords } from "./export.ts";
import type { Terminal } from "./terminal.ts";

/** Moves pets.jsonl. Resolves to what was moved, in words. @throws {UsageError} @throws {Error} nothing was imported */
export async function importCatalogue(source: Source, storage: DatabaseStorage, terminal: Terminal): Promise<string> {
  const options = surroundingsOf(terminal);
  return moveIn(source.path, storage, terminal, async (query) => {
    const animalCount = await transferCatalogue(query, source, options);
    if (animalCount === 0) {
      // It begins with an id, so it may be what the API lists: taken for a torn tail, it would be ignored as a whole.
      throw new Error("it has no line of a pets.jsonl; a NewPet has no id");
    }
    return pluralize(animalCount, "animal");
  });
}

/** Moves a data folder that no server holds, likewise. @throws {UsageError} @throws {Error} nothing was imported */
export async function importFolder(folder: string, storage: DatabaseStorage, terminal: Terminal): Promise<string> {
  const lock = await lockFolder(nodeDisk, folder);
  try {
    await mustHaveFiles(folder, "import");
    const options = surroundingsOf(terminal);
    const move = (query: Query): Promise<Transferred> => transferFolder(query, folder, options);
    return transferredInWords(await moveIn(folder, storage, terminal, move));
  } finally {
    await lock.release();
  }
}

function moveIn<Result>(
  path: string,
  storage: DatabaseStorage,
  terminal: Terminal,
  move: (query: Query) => Promise<Result>,
): Promise<Result> {
  return withDatabase(storage, { work: "make", report: terminal.report }, async (database) => {
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
