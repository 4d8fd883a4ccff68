/**
 * Starts and ends processes: servers, commands and load. Each is ended by its own id, also if the bench is interrupted.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { pinned } from "./machine.js";

const startMsMax = 120_000;
const stopMsMax = 15_000;

/** @type {Set<import("node:child_process").ChildProcess>} */
const running = new Set();

process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(130));

/**
 * @typedef {{ command: string, args: readonly string[], env?: Readonly<Record<string, string>> }} Program
 * @typedef {{ port: number, pid: number, processorUs(): number, stop(): Promise<void> }} RunningServer
 */

/**
 * Starts a server on the servers' core.
 *
 * @param {Program} program it prints `listening on http://HOST:PORT/v1` once it serves
 */
export async function startServer(program) {
  const child = start("server", program);
  const output = collect(child);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const port = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail("does not listen"), startMsMax);
    function fail(why) {
      clearTimeout(timer);
      child.kill("SIGKILL");
      reject(new Error(`Cannot start ${program.args[0]}: ${why}\n${output.text}`));
    }
    child.stdout.on("data", () => {
      const match = /listening on http:\/\/\S+?:(\d+)\/v1/.exec(output.text);
      if (match === null) return;
      clearTimeout(timer);
      resolve(Number(match[1]));
    });
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => fail(`ended with ${code}`));
  });
  return {
    port,
    pid: child.pid,
    processorUs: () => processorUs(child.pid),
    async stop() {
      const timer = setTimeout(() => child.kill("SIGKILL"), stopMsMax);
      child.kill("SIGTERM");
      await ended;
      clearTimeout(timer);
    },
  };
}

/**
 * Runs a program to its end.
 *
 * @param {"server" | "load"} role whose core it runs on
 * @returns {Promise<string>} what it printed on stdout
 */
export async function run(role, program) {
  const child = start(role, program);
  const output = collect(child);
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`${program.command} ${program.args.join(" ")} ended with ${code}\n${output.text}`);
  return output.stdout;
}

function start(role, { command, args, env }) {
  const [program, programArgs] = pinned(role, command, args);
  const child = spawn(program, programArgs, {
    env: { ...process.env, NODE_ENV: "production", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

function collect(child) {
  const output = { text: "", stdout: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    output.stdout += chunk;
    output.text += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk) => (output.text += chunk));
  return output;
}

/**
 * What the process has used of the processors so far, kernel and all threads included.
 *
 * @returns {number} microseconds; NaN without /proc: another system than Linux
 */
function processorUs(pid) {
  if (!existsSync("/proc/self/stat")) return Number.NaN;
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" "); // A name may have spaces.
  const ticksPerSecond = 100; // On every system that Node runs on.
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / ticksPerSecond;
}
