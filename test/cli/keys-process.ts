/**
 * The `keys` command as a process of its own: `node keys-process.js ARGUMENTS`. ROUNDS in the environment: how many
 * times it runs, one after the other.
 */

import { randomBytes } from "node:crypto";

import { runKeysCommand } from "../../src/cli/keys-command.ts";
import { systemClock } from "../../src/disk/clock.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";

for (let rounds = Number(process.env["ROUNDS"] ?? 1); rounds > 0; rounds -= 1) {
  process.exitCode = await runKeysCommand(process.argv.slice(2), {
    dataDir: "data",
    version: "1.0.0",
    disk: nodeDisk,
    clock: systemClock,
    randomBytes,
    writeOut: (text) => process.stdout.write(text),
    writeError: (text) => process.stderr.write(text),
  });
}
