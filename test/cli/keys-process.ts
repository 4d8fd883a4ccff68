/**
 * The `keys` command as a process: `node keys-process.js ARGUMENTS`. It runs as many times as ROUNDS in the environment
 * says, one after the other.
 */

import { run } from "../../src/cli/run.ts";
import { finishOutput, processTerminal } from "../../src/cli/terminal.ts";

const terminal = processTerminal();
for (let rounds = Number(process.env["ROUNDS"] ?? 1); rounds > 0; rounds -= 1) {
  process.exitCode = await run(["keys", ...process.argv.slice(2)], terminal, () => AbortSignal.abort());
}
await finishOutput(terminal, 0, false);
