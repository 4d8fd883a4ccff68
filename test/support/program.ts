/**
 * Runs programs as child processes, above all our own: `node dist/server.js`, as an operator runs it. The suites in
 * plain JavaScript import this file as compiled.
 */

import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { root } from "./root.ts";
import { runHere } from "./terminal.ts";

export const programPath: string = join(root, "dist/server.js");

/** How the program runs. */
export interface How {
  /** The path of another copy of the program. */
  readonly program?: string;
  /** Variables besides those of the tests' own environment, of which the program's settings are left out. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** A command that runs the program, such as strace with its flags. */
  readonly wrapper?: readonly string[];
  /** Descriptors; pipes that are read if omitted. */
  readonly stdout?: number;
  readonly stderr?: number;
}

interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

export interface Ran extends Output {
  readonly code: number | null;
}

export interface RunningProcess {
  readonly process: ChildProcess;
  /** The first group of the line that the start waited for. */
  readonly ready: string;
  readonly output: () => Output;
  /** Resolves when the process has ended, in whatever way. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** Sends the signal and resolves to the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface RunningProgram extends RunningProcess {
  /** The address of the API, as the program printed it. */
  readonly url: string;
  readonly origin: string;
  /** The key that a first start prints. */
  readonly firstKey: string | undefined;
  /** The `curl` line that a first start prints. */
  readonly curlLine: string | undefined;
}

/** A test. When it is over, processes that it has not stopped are killed: they would keep the tests from ending. */
interface Context {
  after(end: () => void): void;
}

/** Runs a command and resolves once it has ended. */
export async function run(args: readonly string[], how: How = {}): Promise<Ran> {
  const { output, ended } = spawned(...commandOf(args, how));
  const { code } = await ended;
  return { code, ...output() };
}

/**
 * Makes a key and returns it. The command runs in this process, or with `how` in one of its own.
 *
 * @param store the flags that name the store, such as `["--data", folder]`
 * @param plan the key's plan; no test uses up the default one
 */
export async function createKey(store: readonly string[], plan = "enterprise", how?: How): Promise<string> {
  const quotas = plan === "enterprise" ? ["--per-minute", "1000000000", "--per-day", "1000000000"] : [];
  const args = ["keys", "create", ...store, "--plan", plan, ...quotas];
  const { code, stdout, stderr } = await (how === undefined ? runHere(args) : run(args, how));
  if (code !== 0) {
    throw new Error(`Cannot create a key: ${stderr}`);
  }
  return stdout.trim();
}

/** Starts the server on a free port. Resolves once it listens; rejects with its output if it ends before. */
export async function start(context: Context | undefined, args: readonly string[], how: How = {}): Promise<RunningProgram> {
  const [command, rest, options] = commandOf(["--port", "0", ...args], how);
  const program = await startProcess(context, command, rest, /^listening on (https?:\/\/\S+)/m, options);
  const { stdout } = program.output();
  return {
    ...program,
    url: program.ready,
    origin: new URL(program.ready).origin,
    firstKey: /^ {2}(as_[0-9A-Za-z]{43})$/m.exec(stdout)?.[1],
    curlLine: /^ {2}(curl .*)$/m.exec(stdout)?.[1],
    stop: how.wrapper === undefined ? program.stop : (signal) => stopWrapped(program, signal),
  };
}

/** Stops the server below a wrapper such as strace, which would leave it running if it were stopped itself. */
function stopWrapped({ process: child, stop, ended }: RunningProcess, signal?: NodeJS.Signals): Promise<number | null> {
  const { pid, exitCode, signalCode } = child;
  const children = (exitCode ?? signalCode) === null ? readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8") : "";
  if (children === "") {
    return stop(signal);
  }
  process.kill(Number.parseInt(children, 10), signal);
  return ended.then(({ code }) => code);
}

/**
 * Starts any process. Resolves once it has printed a line that matches; rejects with its output if it ends before.
 */
export async function startProcess(
  context: Context | undefined,
  command: string,
  args: readonly string[],
  line: RegExp,
  options: SpawnOptions = {},
): Promise<RunningProcess> {
  const { child, output, ended } = spawned(command, args, options);
  context?.after(() => child.kill("SIGKILL"));
  const ready = await new Promise<string>((resolve, reject) => {
    for (const [name, stream] of [["stdout", child.stdout], ["stderr", child.stderr]] as const) {
      stream?.on("data", () => {
        const text = output()[name];
        const match = line.exec(text.slice(0, text.lastIndexOf("\n") + 1));
        if (match !== null) {
          resolve(match[1] ?? "");
        }
      });
    }
    ended.then(({ code, signal }) => {
      const { stdout, stderr } = output();
      reject(new Error(`the program ended with ${signal ?? code}: ${stderr}${stdout}`));
    }, reject);
  });
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> => {
    child.kill(signal);
    return (await ended).code;
  };
  return { process: child, ready, output, ended, stop };
}

function commandOf(args: readonly string[], how: How): [string, readonly string[], SpawnOptions] {
  const { program = programPath, env, cwd, wrapper = [], stdout = "pipe", stderr = "pipe" } = how;
  const inherited = Object.entries(process.env).filter(([name]) => !/^(ANIMAL_STORE_|PORT$|PG)/.test(name));
  const [command = process.execPath, ...rest] = [...wrapper, process.execPath, program, ...args];
  return [command, rest, { cwd, env: { ...Object.fromEntries(inherited), ...env }, stdio: ["ignore", stdout, stderr] }];
}

interface Spawned extends Pick<RunningProcess, "output" | "ended"> {
  readonly child: ChildProcess;
}

function spawned(command: string, args: readonly string[], options: SpawnOptions): Spawned {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  const said = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (said.stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (said.stderr += text));
  // The types do not say which values come with an event.
  const closed = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  return { child, output: () => ({ ...said }), ended: closed.then(([code, signal]) => ({ code, signal })) };
}
