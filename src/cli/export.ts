/**
 * `export FOLDER`: writes what a database holds as a data folder.
 */

import { counted } from "../base/error-message.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";
import { readStorage } from "./settings.ts";
import { exitDone, type Terminal, workReport } from "./terminal.ts";

/** Resolves to the exit code. @throws {UsageError} @throws {Error} nothing was exported */
export async function exportAnimals(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, operands } = parseFlags(args, ["data", "database"]);
  const [folder, ...more] = operands;
  if (folder === undefined || more.length > 0) {
    throw new UsageError("Cannot export: name one folder, as in export backup --database postgres://…");
  }
  const storage = readStorage(values, terminal.environment);
  if (storage.kind === "folder") {
    throw new UsageError("Cannot export: name the database with --database; of a data folder, a copy is a backup");
  }
  const { exportFolder } = await import("./database-files.ts");
  const { animalCount, keyCount } = await exportFolder(folder, storage, workReport(terminal));
  terminal.stdout(`exported ${counted(animalCount, "animal")} and ${counted(keyCount, "key")}\n`);
  return exitDone;
}
