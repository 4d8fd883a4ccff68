/** `export FOLDER`: writes what a database holds as a data folder. And what `import` moves into a database. */

import { join } from "node:path";

import { systemClock } from "../base/clock.ts";
import { counted } from "../base/counted.ts";
import { messageOf } from "../base/error-message.ts";
import { lockFolder } from "../disk/lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { checkWhole, fillFolder } from "../disk/whole-folder.ts";
import type { Query } from "../postgres/database.ts";
import { type Moved, moveCatalogueIn, moveFolderIn, type MoveOptions, type Source } from "../moving/move-in.ts";
import { movedFileNames, moveOut } from "../moving/move-out.ts";
import { type DatabaseStorage, withDatabase } from "./database.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";
import { readStorage } from "./settings.ts";
import { exitDone, type Terminal, workReport } from "./terminal.ts";

/** How long the answer to a statement may take that moves a piece. */
const pieceMs = 60_000;

/** Resolves to the exit code. @throws {UsageError} @throws {Error} nothing was exported */
export async function exportAnimals(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, operands } = parseFlags(args, ["data", "database"]);
  const [folder = "", ...more] = operands;
  if (folder.trim() === "" || more.length > 0) { // Empty as an unset variable is.
    throw new UsageError("Cannot export: name one folder, as in export backup --database postgres://…");
  }
  const storage = readStorage(values, terminal.environment);
  if (storage.kind === "folder") {
    throw new UsageError("Cannot export: name the database with --database; of a data folder, a copy is a backup");
  }
  const options = moveOptions(terminal);
  const moved = await withDatabase(storage, async (database) => {
    const lock = await lockFolder(nodeDisk, folder);
    const write = (): Promise<Moved> => database.transaction((query) => moveOut(query, folder, options), pieceMs);
    return fillFolder(nodeDisk, folder, movedFileNames, write).finally(() => lock.release());
  });
  terminal.stdout(`exported ${inWords(moved)}\n`);
  return exitDone;
}

/** Moves pets.jsonl. Resolves to what was moved, in words. @throws {UsageError} @throws {Error} nothing was imported */
export async function importCatalogue(source: Source, storage: DatabaseStorage, terminal: Terminal): Promise<string> {
  return moveIn(source.path, storage, async (query) => {
    const animalCount = await moveCatalogueIn(query, source, moveOptions(terminal));
    if (animalCount === 0) {
      // It begins with an id, so it may be what the API lists: taken for a torn tail, it would be ignored as a whole.
      throw new Error("it has no line of a pets.jsonl; a NewPet has no id");
    }
    return counted(animalCount, "animal");
  });
}

/** Moves a data folder that no server holds, likewise. @throws {UsageError} @throws {Error} nothing was imported */
export async function importFolder(folder: string, storage: DatabaseStorage, terminal: Terminal): Promise<string> {
  const areThere = await Promise.all(movedFileNames.map((name) => nodeDisk.exists(join(folder, name))));
  if (!areThere.includes(true)) {
    throw new Error(`Cannot import ${folder}: it has none of ${movedFileNames.join(", ")}`);
  }
  const lock = await lockFolder(nodeDisk, folder);
  try {
    await checkWhole(nodeDisk, folder);
    return inWords(await moveIn(folder, storage, (query) => moveFolderIn(query, folder, moveOptions(terminal))));
  } finally {
    await lock.release();
  }
}

function moveIn<Result>(
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

function inWords({ animalCount, keyring }: Moved): string {
  return `${counted(animalCount, "animal")} and ${keyring.countInWords()}`;
}

function moveOptions(terminal: Terminal): MoveOptions {
  return { disk: nodeDisk, clock: systemClock, report: workReport(terminal) };
}
