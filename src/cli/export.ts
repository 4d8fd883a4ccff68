/** `export FOLDER`: writes a data folder from another one, without its history. */

import { join } from "node:path";

import { systemClock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import { checkWhole, fillFolder } from "../disk/atomic-folder.ts";
import type { Surroundings } from "../disk/disk.ts";
import { isFolderLocked } from "../disk/lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { exportFolder } from "../transfer/export-folder.ts";
import { type FolderContent, transferredFileNames } from "../transfer/read-folder.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";
import { parseFolder, readStorage, requirePlain } from "./settings.ts";
import { exitDone, type Terminal, workReport } from "./terminal.ts";

/** Resolves to the exit code. @throws {UsageError} @throws {Error} nothing was exported */
export async function exportAnimals(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, operands } = parseFlags(args, ["data", "database"]);
  const [folder = "", ...more] = operands;
  if (folder.trim() === "" || more.length > 0) { // An unset variable gives an empty name.
    throw new UsageError("Cannot export: name one folder, as in export backup --data data");
  }
  checkTarget(folder);
  const storage = readStorage(values, terminal.environment);
  if (storage.kind === "database") {
    throw new UsageError(`Cannot export ${storage.cited}: back it up with pg_dump`);
  }
  const { dataDir } = storage;
  await mustHaveFiles(dataDir, "export");
  const isHeld = await isFolderLocked(nodeDisk, dataDir);
  const write = () => exportFolder(dataDir, folder, surroundingsOf(terminal)).catch((error: unknown) => {
    throw new Error(`Cannot export ${dataDir}: ${messageOf(error)}`, { cause: error });
  });
  const what = inWords(await fillFolder(nodeDisk, folder, transferredFileNames, write));
  const isBackup = isHeld || (await isFolderLocked(nodeDisk, dataDir));
  const remark = "; another process holds the folder: this is a backup, without what is confirmed from now on";
  terminal.stdout(`exported ${what}${isBackup ? remark : ""}\n`);
  return exitDone;
}

/** @throws {UsageError} it is no name of a folder to make */
export function checkTarget(folder: string): void {
  try {
    parseFolder(requirePlain(folder));
  } catch (error) {
    throw new UsageError(`Cannot write to ${folder}: it ${messageOf(error)}`);
  }
}

/** @throws {Error} there is nothing to export or import, or only a part of it */
export async function mustHaveFiles(dataDir: string, verb: "export" | "import"): Promise<void> {
  await checkWhole(nodeDisk, dataDir);
  const areThere = await Promise.all(transferredFileNames.map((name) => nodeDisk.exists(join(dataDir, name))));
  if (!areThere.includes(true)) {
    throw new Error(`Cannot ${verb} ${dataDir}: it has none of ${transferredFileNames.join(", ")}`);
  }
}

export function inWords({ pets, keyring }: FolderContent): string {
  return `${pluralize(pets?.catalogue.count ?? 0, "animal")} and ${keyring.countInWords()}`;
}

export function surroundingsOf(terminal: Terminal): Surroundings {
  return { disk: nodeDisk, clock: systemClock, report: workReport(terminal) };
}
