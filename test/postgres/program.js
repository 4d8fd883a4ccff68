/**
 * The program as an operator of PostgreSQL has it, with the package `pg`. Its folder goes with the test process.
 */

import { cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import * as support from "../../build/test/support/program.js";
import { guardedFolder } from "./guarded-folder.js";

const project = join(import.meta.dirname, "..", "..");
let program;

/**
 * Starts the server and resolves when it listens; rejects with what it said if it ends before.
 *
 * @param args such as `["--database", url]`
 * @param cwd a folder of `guardedFolder`; without it, a new one
 * @param port without it, a free one
 */
export async function startProgram(args, { port = "0", ...how } = {}) {
  const started = await support.start(undefined, ["--port", port, ...args], installed("program", how));
  return {
    ...started,
    stdout: () => started.output().stdout,
    stderr: () => started.output().stderr,
    /** Sends a signal that does not end it, such as SIGSTOP or SIGCONT. */
    signal: (name) => started.process.kill(name),
    /** Sends a signal and resolves when the program has ended: `{ code, signal }`. */
    kill(name = "SIGKILL") {
      started.process.kill(name);
      return started.ended;
    },
    /** Stops it as an operator does. Rejects unless it ends with code 0. */
    async stop() {
      const code = await started.stop();
      if (code !== 0) {
        throw new Error(`The program ended with ${code}: ${started.output().stderr}`);
      }
    },
  };
}

/** Runs a command, such as `["keys", "create", "--database", url]`, to its end: `{ code, stdout, stderr }`. */
export function runCommand(args, how = {}) {
  return support.run(args, installed("command", how));
}

/** @param store where the key is kept: `["--database", url]` or `["--data", folder]` @returns the key */
export function createKey(store, plan) {
  return support.createKey(store, plan, installed("command", {}));
}

/** As an operator has it: the package `pg` is found from where the program is. */
function installed(name, how) {
  if (program === undefined) {
    const folder = guardedFolder("installation");
    ["dist", "package.json"].forEach((part) => cpSync(join(project, part), join(folder, part), { recursive: true }));
    symlinkSync(join(import.meta.dirname, "node_modules"), join(folder, "node_modules"));
    program = join(folder, "dist", "server.js");
  }
  return { program, cwd: guardedFolder(name), ...how };
}
