/** `check`: says whether the server would start with the same settings, without starting it. */

import { randomBytes } from "node:crypto";
import { resolve } from "node:path";

import { systemClock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import { oneLine } from "../base/redact-secrets.ts";
import { type Report, withLevel } from "../base/report.ts";
import type { Disk } from "../disk/disk.ts";
import { DryDisk } from "../disk/dry-disk.ts";
import { explain } from "../disk/file-errors.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { openFolder } from "../folder/engine.ts";
import { newKey } from "../keys/keys.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";
import { readCertificate, readSettings, readStorage, settingNames, type Settings } from "./settings.ts";
import { exitDone, exitFailure, type Terminal } from "./terminal.ts";

/** Resolves to the exit code: done if the server would start, else failure. @throws {UsageError} */
export async function check(args: readonly string[], terminal: Terminal, disk: Disk = nodeDisk): Promise<number> {
  const { values, operands: [word] } = parseFlags(args, [...settingNames, "salvage"]);
  if (word !== undefined) {
    throw new UsageError(`Cannot check "${word}": name the folder with --data, or a database with --database`);
  }
  const target = values.get("salvage");
  if (target !== undefined) {
    const { salvage } = await import("./salvage.ts");
    return salvage(target, readStorage(values, terminal.environment), terminal, disk);
  }
  const read = readSettings(args, terminal.environment);
  const { settings, warnings } = read;
  const pair = await readCertificate(read);
  const certificate = pair ? (await import("../tls/pair.ts")).remarksOn(pair, systemClock.wallMs()) : [];
  const say = (line: string): void => terminal.stdout(`${oneLine(line)}\n`);
  warnings.forEach((warning) => say(withLevel(warning, "warning")));
  try {
    say(await tryToStart(settings, disk, (message, level) => say(`a start says: ${withLevel(message, level)}`)));
    certificate.forEach(([message]) => say(`it would serve, but ${message}`));
  } catch (error) {
    if (error instanceof UsageError) {
      throw error;
    }
    say(messageOf(await explain(error)));
    say("the server would not start");
    return exitFailure;
  }
  say("the server would start");
  return exitDone;
}

/**
 * Says what a start would serve.
 * @throws {UsageError} the database cannot be reached @throws {Error} why the server would not start
 */
async function tryToStart(settings: Settings, disk: Disk, report: Report): Promise<string> {
  const { storage } = settings;
  if (storage.kind === "database") {
    const { checkDatabase } = await import("./database.ts");
    return checkDatabase(storage);
  }
  const { dataDir } = storage;
  const trial = new DryDisk(disk);
  const engine = await openFolder({ disk: trial, clock: systemClock, dataDir, report });
  try {
    const { exists, keyring } = engine.keys;
    const first = exists ? "" : "; a start would make the first key";
    const animals = pluralize((await engine.countAnimals()) ?? 0, "animal"); // A folder always knows.
    const inWords = `${resolve(dataDir)} has ${animals}, ${keyring.countInWords()}${first}`;
    await (exists || engine.keys.createFirst(newKey({}, { clock: systemClock, randomBytes }).event));
    const inUse = "; a running service uses it, and may be writing now";
    return trial.isHeld ? inWords + inUse : inWords;
  } finally {
    await engine.close();
  }
}
