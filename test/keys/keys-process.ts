/**
 * The `keys` command as a process of its own: `node keys-process.js ARGUMENTS`. ROUNDS in the environment: how many
 * times it runs, one after the other.
 */

import { randomBytes } from "node:crypto";

import { systemClock } from "../../src/clock.ts";
import { runKeysCommand } from "../../src/keys/keys-command.ts";
import { createPlan } from "../../src/limits/plans.ts";
import { nodeDisk } from "../../src/log/node-disk.ts";

for (let rounds = Number(process.env["ROUNDS"] ?? 1); rounds > 0; rounds -= 1) {
  process.exitCode = await runKeysCommand(process.argv.slice(2), {
    dataDir: "data",
    version: "1.0.0",
    disk: nodeDisk,
    clock: systemClock,
    createPlan,
    randomBytes,
    writeOut: (text) => process.stdout.write(text),
    writeError: (text) => process.stderr.write(text),
  });
}
