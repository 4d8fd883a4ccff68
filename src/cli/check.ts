/** `check`: says whether the server would start with the same settings, without starting it. */

import { randomBytes } from "node:crypto";
import { lstatSync, readlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { systemClock } from "../base/clock.ts";
import type { Disk } from "../disk/disk.ts";
import { withLevel } from "../base/report.ts";
import { messageOf } from "../base/error-message.ts";
import { explain } from "../disk/file-errors.ts";
import { isFolderLocked } from "../disk/lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { KeyFile, keyFileName } from "../folder/key-file.ts";
import { limitsFileName, loadLimits } from "../folder/limits-file.ts";
import { MemoryLimiter } from "../limits/memory-limiter.ts";
import { oneLine } from "../options.ts";
import { checkPetLog, petFileName } from "../store/load-pets.ts";
import { checkRoom } from "./first-start.ts";
import { parseFlags, UsageError } from "./parse-flags.ts";
import { readCertificate, readSettings, readStorage, settingNames } from "./settings.ts";
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
  const { settings: { storage }, warnings } = read;
  const pair = await readCertificate(read);
  const certificate = pair ? (await import("../tls/pair.ts")).remarksOn(pair, systemClock.wallMs()) : [];
  terminal.stdout(warnings.map((warning) => `${withLevel(warning, "warning")}\n`).join(""));
  let isServed = false;
  const checks: (() => Promise<string>)[] = [];
  if (storage.kind === "database") {
    const { checkDatabase } = await import("./database.ts");
    checks.push(() => checkDatabase(storage));
  } else {
    const { dataDir } = storage;
    checks.push(async () => {
      isServed = await isFolderLocked(disk, dataDir);
      return checkPetLog(disk, dataDir, isServed);
    });
    checks.push(...[checkKeys, checkLimits, checkRights].map((checkPart) => () => checkPart(disk, dataDir)));
  }
  const isSound = await runChecks(checks, terminal);
  certificate.forEach(([message]) => terminal.stdout(`it would serve, but ${oneLine(message)}\n`));
  const remark = isServed ? "; a server holds the folder now" : "";
  terminal.stdout(`the server would ${isSound ? "" : "not "}start${remark}\n`);
  return isSound ? exitDone : exitFailure;
}

/** Prints what each check finds, or why it fails. Resolves to whether none failed. A usage error ends them. */
async function runChecks(checks: readonly (() => Promise<string>)[], terminal: Terminal): Promise<boolean> {
  let isSound = true;
  const findings = new Set([""]);
  for (const checkPart of checks) {
    const finding = await checkPart().catch((error: unknown) => {
      if (error instanceof UsageError) {
        throw error;
      }
      isSound = false;
      return messageOf(explain(error));
    });
    terminal.stdout(findings.has(finding) ? "" : `${oneLine(finding)}\n`);
    findings.add(finding);
  }
  return isSound;
}

/** @throws {Error} why the server would not start */
async function checkKeys(disk: Disk, dataDir: string): Promise<string> {
  const findings: string[] = [];
  const report = (message: string): void => void findings.push(message);
  const keys = await KeyFile.open({ disk, clock: systemClock, dataDir, isReadOnly: true, report });
  if (!keys.exists) {
    return `${join(dataDir, keyFileName)} does not exist: a start would create it`;
  }
  const state = findings.length === 0 ? "is sound:" : "has";
  return [`the key file ${state} ${keys.keyring.countInWords()}`, ...findings].join("; ");
}

/** @throws {Error} why the server would not start */
async function checkLimits(disk: Disk, dataDir: string): Promise<string> {
  const fault = await loadLimits(disk, dataDir, new MemoryLimiter({ clock: systemClock }), new Map());
  const effect = "the server would move it away, and all limits would start unused";
  return fault === undefined ? "" : `${join(dataDir, limitsFileName)} ${fault}; ${effect}`;
}

/**
 * Checks what a start needs: to create a lock in the folder (or in its nearest existing parent), to write to the
 * catalogue, and room for the first key if there is none. The lock is released at once, and what was written is
 * removed. On a full disk with keys a start succeeds, and serves reads.
 * @throws {Error} why the server would not start
 */
async function checkRights(disk: Disk, dataDir: string): Promise<string> {
  let folder = resolve(dataDir);
  while (folder !== dirname(folder) && !(await disk.exists(folder))) {
    if (targetOf(folder) !== undefined) {
      throw new Error(`${folder} is not a folder, nor a link to one`);
    }
    folder = dirname(folder);
  }
  for (const name of [petFileName, keyFileName]) {
    await checkPlace(disk, join(dataDir, name));
  }
  // A name like those of the server's own temporary locks: if this process dies, the next server removes the lock.
  const path = join(folder, `server.lock.${randomBytes(8).toString("hex")}`);
  await (await disk.lock(path))?.release();
  if (!(await disk.exists(join(dataDir, keyFileName)))) {
    await checkRoom(disk, `${path}.new`);
  }
  const petPath = join(dataDir, petFileName);
  if (await disk.exists(petPath)) {
    await (await disk.openToAppend(petPath)).close();
  }
  return "";
}

/** A start makes a file that does not exist, also where a link leads, but not the folder of that place. */
async function checkPlace(disk: Disk, path: string): Promise<void> {
  const target = targetOf(path);
  if (target === undefined || (await disk.exists(target))) {
    return;
  }
  if (!(await disk.exists(dirname(target)))) {
    throw new Error(`${path} is a link into ${dirname(target)}, which does not exist`);
  }
  await checkPlace(disk, target);
}

/** Where the link leads; undefined if the path is none. */
function targetOf(path: string): string | undefined {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink ? resolve(dirname(path), readlinkSync(path)) : undefined;
}
