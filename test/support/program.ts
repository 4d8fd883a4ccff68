/**
 * The program as an operator runs it: `node dist/server.js` as a child process.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";

/** Run from build/test. */
export const programPath: string = fileURLToPath(new URL("../../../dist/server.js", import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command and resolves once it has ended. */
export async function run(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const child = spawn(process.execPath, [programPath, ...args], { env: { ...process.env, PORT: "", ...environment } });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

export interface RunningProgram {
  /** Of the API, as the program printed it. */
  readonly url: string;
  readonly process: ChildProcess;
  /** The key that a first start prints. */
  readonly firstKey: string | undefined;
  /** The `curl` line that a first start prints. */
  readonly curlLine: string | undefined;
  readonly output: () => { readonly stdout: string; readonly stderr: string };
  /** Sends the signal and resolves to the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/**
 * Starts the server on a free port. Resolves once it listens; rejects with its standard error if it ends before. A
 * server that a failed test has not stopped is killed when the test is over, or it would keep the tests from ending.
 *
 * @param stderrDescriptor becomes its standard error; a pipe that is read if omitted
 */
export async function start(context: TestContext, args: readonly string[], stderrDescriptor?: number): Promise<RunningProgram> {
  const child = spawn(process.execPath, [programPath, "--port", "0", ...args], {
    env: { ...process.env, PORT: "" },
    stdio: ["ignore", "pipe", stderrDescriptor ?? "pipe"],
  });
  context.after(() => child.kill("SIGKILL"));
  const closed = once(child, "close") as Promise<[number | null]>;
  let stdout = "";
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  assert.ok(child.stdout !== null);
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise<string>((resolve, reject) => {
    lines.on("line", (line) => {
      stdout += `${line}\n`;
      const match = /^listening on (http:\/\/\S+)/.exec(line)?.[1];
      if (match !== undefined) {
        resolve(match);
      }
    });
    lines.on("close", () => void closed.then(([code]) => reject(new Error(`the program ended with ${code}: ${stderr}`))));
  });
  return {
    url,
    process: child,
    firstKey: /^ {2}(as_[0-9A-Za-z]{43})$/m.exec(stdout)?.[1],
    curlLine: /^ {2}(curl .*)$/m.exec(stdout)?.[1],
    output: () => ({ stdout, stderr }),
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      return (await closed)[0];
    },
  };
}
