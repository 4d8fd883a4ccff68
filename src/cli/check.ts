/**
 * `check`: says what a start would do, without doing it (contract, section 1).
 */

import { randomBytes } from "node:crypto";

import { systemClock } from "../disk/clock.ts";
import type { Disk } from "../disk/disk.ts";
import { isFolderLocked } from "../disk/lock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { KeyStore } from "../keys/key-store.ts";
import { KeyError } from "../keys/key.ts";
import { createPlan } from "../limits/plans.ts";
import { checkPetLog, type CheckResult } from "../store/load.ts";
import { parseFlags, UsageError } from "./flags.ts";
import { dataDirOf } from "./settings.ts";
import { exitDone, exitNotDone, type Terminal } from "./terminal.ts";

/** Resolves to the exit code: 0 it would serve, 1 it would refuse. @throws {UsageError} */
export async function check(args: readonly string[], terminal: Terminal, disk: Disk = nodeDisk): Promise<number> {
  const { values, operands } = parseFlags(args, { data: "value" });
  if (operands[0] !== undefined) {
    throw new UsageError(`Cannot check "${operands[0]}": name the folder with --data`);
  }
  const dataDir = dataDirOf(values.get("data"), terminal.environment);
  const isServed = await isFolderLocked(disk, dataDir);
  const results = [await checkPetLog(disk, dataDir, isServed), await checkKeys(disk, dataDir)];
  for (const { finding } of results) {
    terminal.stdout(`${finding}\n`);
  }
  const wouldServe = results.every((result) => result.wouldServe);
  terminal.stdout(
    wouldServe ? `a start would serve${isServed ? "; a server holds the folder now" : ""}\n` : "a start would refuse\n",
  );
  return wouldServe ? exitDone : exitNotDone;
}

async function checkKeys(disk: Disk, dataDir: string): Promise<CheckResult> {
  const findings: string[] = [];
  const report = (message: string): void => void findings.push(message);
  try {
    const keys = await KeyStore.open({ disk, clock: systemClock, dataDir, createPlan, randomBytes, report });
    const keyCount = (await keys.list()).length;
    await keys.close();
    return { wouldServe: true, finding: [`the key file is sound: ${keyCount} keys`, ...findings].join("; ") };
  } catch (error) {
    if (error instanceof KeyError) {
      return { wouldServe: false, finding: error.message };
    }
    throw error;
  }
}
