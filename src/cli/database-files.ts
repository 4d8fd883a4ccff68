/** `import` of a data folder into a database. */

import { messageOf } from "../base/error-message.ts";
import type { Surroundings } from "../disk/disk.ts";
import { lockFolder } from "../disk/lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import type { Database } from "../postgres/database.ts";
import { writeToDatabase } from "../transfer/import-to-postgres.ts";
import { type FolderContent, readFolder } from "../transfer/read-folder.ts";
import { type DatabaseStorage, withDatabase } from "./database.ts";
import { inWords, mustHaveFiles, surroundingsOf } from "./export.ts";
import type { Terminal } from "./terminal.ts";

/** How long the answer to a statement may take that moves a piece to a database. */
const pieceMs = 60_000;

/** Moves a data folder that no server uses. @throws {UsageError} @throws {Error} nothing was imported, or all may be */
export async function importFolder(folder: string, storage: DatabaseStorage, terminal: Terminal): Promise<string> {
  return withDatabase(storage, { work: "import", report: terminal.report }, async (database) => {
    const lock = await lockFolder(nodeDisk, folder);
    try {
      await mustHaveFiles(folder, "import");
      return inWords(await copyInto(database, folder, surroundingsOf(terminal)));
    } finally {
      await lock.release();
    }
  });
}

async function copyInto(database: Database, folder: string, options: Surroundings): Promise<FolderContent> {
  let outcome = "nothing was imported";
  try {
    const content = await readFolder(folder, "imported", options);
    await database.transaction(async (query) => {
      await writeToDatabase(query, content, options.clock);
      outcome = "all of it may have been imported: see check";
    }, { eachMs: pieceMs });
    return content;
  } catch (error) {
    throw new Error(`Cannot import ${folder}: ${messageOf(error)}; ${outcome}`, { cause: error });
  }
}
