/** `check --salvage FOLDER`: writes what is intact in a damaged data folder to a new one. */

import { readdirSync } from "node:fs";
import { basename, join } from "node:path";

import { messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import { checkWhole, fillFolder, markerName } from "../disk/atomic-folder.ts";
import type { Disk } from "../disk/disk.ts";
import { readWholeFile, upTo, writeFile } from "../disk/file-bytes.ts";
import { folderLockPath } from "../disk/lock.ts";
import { refuseRoot } from "../disk/owner.ts";
import { keyFileName, readIntactKeys } from "../folder/key-file.ts";
import { decodeSnapshot, limitsFileName } from "../folder/limits-file.ts";
import { petFileName } from "../store/load-pets.ts";
import { PetFileLines } from "../transfer/pet-file-lines.ts";
import { salvagePets } from "../transfer/salvage-pets.ts";
import { checkTarget } from "./export.ts";
import { UsageError } from "./parse-flags.ts";
import type { Storage } from "./settings.ts";
import { exitDone, exitFailure, type Terminal } from "./terminal.ts";

/** A server may hold the folder meanwhile. @throws {UsageError} @throws {Error} nothing was written */
export async function salvage(target: string, storage: Storage, terminal: Terminal, disk: Disk): Promise<number> {
  if (storage.kind === "database") {
    throw new UsageError("Cannot salvage a database: name a data folder with --data");
  }
  if (target.trim() === "") {
    throw new UsageError("Cannot use --salvage: name a folder, a new one or an empty one"); // An unset variable.
  }
  checkTarget(target);
  const { dataDir } = storage;
  await refuseRoot(dataDir);
  await checkWhole(disk, dataDir);
  const names = (await disk.exists(target)) ? readdirSync(target) : [];
  // A salvage that was killed may have left no more than its lock.
  if (!names.includes(markerName) && names.some((name) => !name.startsWith(basename(folderLockPath(target))))) {
    throw new Error(`Cannot salvage to ${target}: it is not empty`);
  }
  const path = join(dataDir, petFileName);
  const file = await disk.openToRead(path);
  if (file === undefined) {
    throw new Error(`Cannot salvage ${path}: there is no such file`);
  }
  const readOrAdvise: typeof file.read = (bytes, position) => file.read(bytes, position).catch((error: unknown) => {
    const advice = "copy the file with ddrescue, and salvage the copy";
    throw new Error(`it cannot be read from byte ${position} on (${messageOf(error)}): ${advice}`, { cause: error });
  });
  let isWhole = true;
  const lose = (what: string): void => {
    isWhole = false;
    terminal.report(what, "warning");
  };
  const lines = new PetFileLines();
  const write = async (): Promise<void> => {
    const whole = upTo({ ...file, read: readOrAdvise }, file.size()); // A server may be writing to it.
    await writeFile(disk, join(target, petFileName), salvagePets(whole, lines, lose));
    const others = [[keyFileName, readIntactKeys, keyAdvice], [limitsFileName, readLimits, ""]] as const;
    for (const [name, read, advice] of others) {
      const content = await read(disk, join(dataDir, name)).catch((error: unknown) => {
        lose(`left out ${name}: ${messageOf(error)}${advice}`);
      });
      if (content !== undefined) {
        await writeFile(disk, join(target, name), [content]);
      }
    }
  };
  try {
    await fillFolder(disk, target, [petFileName, keyFileName, limitsFileName], write);
  } catch (error) {
    throw new Error(`Cannot salvage ${path}: ${messageOf(error)}`, { cause: error });
  } finally {
    await file.close();
  }
  const loss = isWhole ? "" : "; what is lost is on standard error";
  terminal.stdout(`salvaged ${pluralize(lines.animalCount, "animal")}${loss}\n`);
  return isWhole ? exitDone : exitFailure;
}

const keyAdvice = "; a lost line may have revoked any key, so none is taken: restore the file from a backup, and " +
  "revoke what was revoked since, or make new keys";

/** @throws {Error} it cannot be read, or is damaged */
async function readLimits(disk: Disk, path: string): Promise<Buffer | undefined> {
  const content = await readWholeFile(disk, path);
  const saved = content && decodeSnapshot(content);
  if (typeof saved === "string") {
    throw new Error(`it ${saved}: used requests and bans are forgotten`);
  }
  return content;
}
