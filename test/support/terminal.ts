/**
 * Runs the program's command lines in this process, which takes less time than a process as in `test/support/program.ts`.
 */

import { run } from "../../src/cli/run.ts";
import { type Terminal, terminalOver } from "../../src/cli/terminal.ts";
import type { Ran } from "./program.ts";

export interface RecordingTerminal extends Terminal {
  readonly output: () => { readonly stdout: string; readonly stderr: string };
}

/** A terminal that records what is printed, with the promises of the real one. @param isWatched whether a person watches */
export function recordingTerminal(environment: NodeJS.ProcessEnv = {}, isWatched = false): RecordingTerminal {
  let stdout = "";
  let stderr = "";
  return {
    ...terminalOver((lines) => (stdout += lines) !== "", (lines) => (stderr += lines) !== ""),
    environment,
    isWatched,
    stdin: () => process.stdin,
    output: () => ({ stdout, stderr }),
  };
}

/** Runs a command line to its end. A server is stopped as soon as it starts. */
export async function runHere(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const terminal = recordingTerminal(environment);
  const code = await run(args, terminal, (isServer) => (isServer ? AbortSignal.abort() : new AbortController().signal));
  return { code, ...terminal.output() };
}
