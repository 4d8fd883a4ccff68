/** `import` of a pets.jsonl, or of a whole data folder, into a database. */

import { messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import { lockFolder } from "../disk/lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import type { Database, Query } from "../postgres/database.ts";
import { type Source, transferCatalogue, transferFolder, type Transferred } from "../transfer/import-to-postgres.ts";
import { type DatabaseStorage, withDatabase } from "./database.ts";
import { mustHaveFiles, surroundingsOf, transferredInWords } from "./export.ts";
import type { Terminal } from "./terminal.ts";

/** Moves pets.jsonl. Resolves to what was moved, in words. @throws {UsageError} @throws {Error} nothing was imported */
export async function importCatalogue(source: Source, storage: DatabaseStorage, terminal: Terminal): Promise<string> {
  const options = surroundingsOf(terminal);
  const move = async (query: Query): Promise<string> => {
    const animalCount = await transferCatalogue(query, source, options);
    if (animalCount === 0) {
      // It begins with an id, so it may be a list of the API, which would be ignored as one torn tail.
      throw new Error("it has no line of a pets.jsonl; a NewPet has no id");
    }
    return pluralize(animalCount, "animal");
  };
  return withDatabase(storage, { work: "import", report: terminal.report }, (database) => {
    return inTransaction(database, source.path, move);
  });
}

/** Moves a data folder that no server uses. @throws {UsageError} @throws {Error} nothing was imported */
export async function importFolder(folder: string, storage: DatabaseStorage, terminal: Terminal): Promise<string> {
  return withDatabase(storage, { work: "import", report: terminal.report }, async (database) => {
    const lock = await lockFolder(nodeDisk, folder);
    try {
      await mustHaveFiles(folder, "import");
      const options = surroundingsOf(terminal);
      const move = (query: Query): Promise<Transferred> => transferFolder(query, folder, options);
      return transferredInWords(await inTransaction(database, folder, move));
    } finally {
      await lock.release();
    }
  });
}

/** How long the answer to a statement may take that moves a piece to a database. */
const pieceMs = 60_000;

async function inTransaction<Result>(
  database: Database,
  path: string,
  move: (query: Query) => Promise<Result>,
): Promise<Result> {
  let isCommitting = false;
  try {
    return await database.transaction(async (query) => {
      const moved = await move(query);
      isCommitting = true;
      return moved;
    }, { eachMs: pieceMs });
  } catch (error) {
    const outcome = isCommitting ? "all of it may have been imported: see check" : "nothing was imported";
    throw new Error(`Cannot import ${path}: ${messageOf(error)}; ${outcome}`, { cause: error });
  }
}
