/**
 * `keys …`: hands the command what it may touch.
 */

import { randomBytes } from "node:crypto";

import { systemClock } from "../disk/clock.ts";
import { nodeDisk } from "../disk/node-disk.ts";
import { version } from "../version.ts";
import { runKeysCommand } from "./keys-command.ts";
import { dataDirOf } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

/** Resolves to the exit code. */
export function keys(args: readonly string[], terminal: Terminal): Promise<number> {
  return runKeysCommand(args, {
    dataDir: dataDirOf(undefined, terminal.environment),
    version,
    disk: nodeDisk,
    clock: systemClock,
    randomBytes,
    writeOut: terminal.stdout,
    writeError: terminal.stderr,
  });
}
