/** `check --salvage FOLDER`: writes what is sound in a damaged data folder to a new one. */

import { readdirSync } from "node:fs";
import { join } from "node:path";

import { systemClock } from "../base/clock.ts";
import { counted } from "../base/counted.ts";
import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import type { Disk } from "../disk/disk.ts";
import { lockFolder } from "../disk/lock.ts";
import { readWholeFile, writeFile } from "../disk/replace-file.ts";
import { checkWhole, fillFolder, markName } from "../disk/whole-folder.ts";
import { KeyFile, keyFileName } from "../folder/key-file.ts";
import { decodeSnapshot, limitsFileName } from "../folder/limits-file.ts";
import { petFileName } from "../store/load-pets.ts";
import { PetFileLines } from "../moving/pet-file-lines.ts";
import { salvagePets } from "../moving/salvage-pets.ts";
import { UsageError } from "./parse-flags.ts";
import type { Storage } from "./settings.ts";
import { exitDone, type Terminal } from "./terminal.ts";

/** Reads beside a server that holds the folder. @throws {UsageError} @throws {Error} nothing was written */
export async function salvage(target: string, storage: Storage, terminal: Terminal, disk: Disk): Promise<number> {
  if (storage.kind === "database") {
    throw new UsageError("Cannot salvage a database: name a data folder with --data");
  }
  if (target.trim() === "") {
    throw new UsageError("Cannot use --salvage: name a folder, a new one or an empty one"); // An unset variable.
  }
  const { dataDir } = storage;
  await checkWhole(disk, dataDir);
  const names = (await disk.exists(target)) ? readdirSync(target) : [];
  if (names.length > 0 && !names.includes(markName)) {
    throw new Error(`Cannot salvage to ${target}: it is not empty`);
  }
  const path = join(dataDir, petFileName);
  const file = await disk.openToRead(path);
  if (file === undefined) {
    throw new Error(`Cannot salvage ${path}: there is no such file`);
  }
  const warn = (message: string): void => terminal.report(message, "warning");
  const lines = new PetFileLines();
  const lock = await lockFolder(disk, target);
  const write = async (): Promise<void> => {
    await writeFile(disk, join(target, petFileName), salvagePets(file, lines, warn));
    const keyFault = (): Promise<string | undefined> => findKeyFault(disk, dataDir, warn);
    for (const [name, faultOf] of [[keyFileName, keyFault], [limitsFileName, limitsFault]] as const) {
      const content = await readWholeFile(disk, join(dataDir, name));
      const fault = content && (await faultOf(content));
      if (fault !== undefined) {
        warn(`left out ${name}: ${fault}`);
      } else if (content !== undefined) {
        await writeFile(disk, join(target, name), [content]);
      }
    }
  };
  try {
    await fillFolder(disk, target, [petFileName, keyFileName, limitsFileName], write).finally(() => lock.release());
  } catch (error) {
    throw new Error(`Cannot salvage ${path}: ${messageOf(error)}`, { cause: error });
  } finally {
    await file.close();
  }
  terminal.stdout(`salvaged ${counted(lines.animalCount, "animal")}\n`);
  return exitDone;
}

/** A file that is damaged before its end is not copied: a key whose revocation is lost would work again. */
async function findKeyFault(disk: Disk, dataDir: string, report: Report): Promise<string | undefined> {
  return KeyFile.open({ disk, clock: systemClock, dataDir, isReadOnly: true, report }).then(() => undefined, messageOf);
}

function limitsFault(content: Buffer): string | undefined {
  const saved = decodeSnapshot(content);
  return typeof saved === "string" ? `it ${saved}` : undefined;
}
