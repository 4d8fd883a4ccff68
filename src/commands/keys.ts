/**
 * `keys …`: hands the command what it may touch.
 */

import { randomBytes } from "node:crypto";

import { systemClock } from "../clock.ts";
import { runKeysCommand } from "../keys/keys-command.ts";
import { createPlan } from "../limits/plans.ts";
import { nodeDisk } from "../log/node-disk.ts";
import { dataDirOf } from "../settings.ts";
import { version } from "../version.ts";
import type { Terminal } from "./terminal.ts";

/** Resolves to the exit code. */
export function keys(args: readonly string[], terminal: Terminal): Promise<number> {
  return runKeysCommand(args, {
    dataDir: dataDirOf(undefined, terminal.environment),
    version,
    disk: nodeDisk,
    clock: systemClock,
    createPlan,
    randomBytes,
    writeOut: terminal.stdout,
    writeError: terminal.stderr,
  });
}
