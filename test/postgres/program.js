/**
 * The program as built, run as a child, and a client for it. Its folder goes with the test process.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, symlinkSync } from "node:fs";
import { Agent, request } from "node:http";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { guardedFolder } from "./guarded-folder.js";

const here = dirname(fileURLToPath(import.meta.url));
let programPath;

/**
 * Starts the server and resolves when it listens; rejects with what it said if it ends before.
 *
 * @param args such as `["--database", url]`
 * @param cwd a folder of `guardedFolder`; without it, a new one
 * @param port without it, a free one
 */
export async function startProgram(args, { cwd = guardedFolder("program"), env = {}, port = "0" } = {}) {
  const child = spawnProgram(["--port", port, ...args], { cwd, env });
  const exited = once(child, "exit").then(([code, signal]) => ({ code, signal }));
  const output = collect(child);
  const baseUrl = await Promise.race([
    new Promise((resolve) => {
      createInterface({ input: child.stdout }).on("line", (line) => {
        const match = /^listening on (http:\S+)/.exec(line);
        if (match !== null) {
          resolve(match[1]);
        }
      });
    }),
    exited.then(({ code, signal }) => {
      throw new Error(`The program ended with ${signal ?? code}: ${output.stderr}${output.stdout}`);
    }),
  ]);
  return {
    baseUrl,
    origin: new URL(baseUrl).origin,
    cwd,
    pid: child.pid,
    /** Resolves when it has ended, in whatever way: `{ code, signal }`. */
    exited,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    /** Sends a signal that does not end it, such as SIGSTOP or SIGCONT. */
    signal: (name) => child.kill(name),
    /** Sends a signal and resolves when the program has ended: `{ code, signal }`. */
    kill(name = "SIGKILL") {
      child.kill(name);
      return exited;
    },
    /** Stops it as an operator does. Rejects unless it ends with code 0. */
    async stop() {
      child.kill("SIGTERM");
      const { code, signal } = await exited;
      if (code !== 0) {
        throw new Error(`The program ended with ${signal ?? code}: ${output.stderr}`);
      }
    },
  };
}

/** Runs a command, such as `["keys", "create", "--database", url]`, to its end: `{ code, stdout, stderr }`. */
export async function runCommand(args, { cwd = guardedFolder("command"), env = {} } = {}) {
  const child = spawnProgram(args, { cwd, env });
  const output = collect(child);
  const [code] = await once(child, "close");
  return { code, ...output };
}

/** @param store where the key is kept: `["--database", url]` or `["--data", folder]` @returns the key */
export async function createKey(store, plan = "enterprise") {
  const quotas = plan === "enterprise" ? ["--per-minute", "1000000", "--per-day", "1000000000"] : [];
  const { code, stdout, stderr } = await runCommand(["keys", "create", ...store, "--plan", plan, ...quotas]);
  if (code !== 0) {
    throw new Error(`Cannot create a key: ${stderr}`);
  }
  return stdout.trim();
}

/**
 * A client that keeps its connections. A response is `{ status, headers, text }`. A request is rejected when its
 * connection breaks, or after `timeoutMs` without a response.
 */
export function newClient({ origin }, key, { connections = 64, timeoutMs = 30_000 } = {}) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const send = (method, path, { headers = {}, content } = {}) =>
    new Promise((resolve, reject) => {
      const fields = { authorization: `Bearer ${key}`, ...headers };
      const signal = AbortSignal.timeout(timeoutMs);
      const outgoing = request(`${origin}${path}`, { method, agent, headers: fields, signal });
      outgoing.on("error", reject);
      outgoing.on("response", (incoming) => {
        let text = "";
        incoming.setEncoding("utf8");
        incoming.on("data", (chunk) => (text += chunk));
        incoming.on("error", reject);
        incoming.on("end", () => resolve({ status: incoming.statusCode, headers: incoming.headers, text }));
      });
      outgoing.end(content);
    });
  return {
    send,
    get: (path, headers) => send("GET", path, { headers }),
    /** Adds an animal. `headers` may have an `idempotency-key`. */
    add(pet, headers = {}) {
      const content = JSON.stringify(pet);
      const fields = { "content-type": "application/json", "content-length": Buffer.byteLength(content), ...headers };
      return send("POST", "/v1/pets", { headers: fields, content });
    },
    close: () => agent.destroy(),
  };
}

/** Settings of the developer's own environment do not count. */
function spawnProgram(args, { cwd, env }) {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(ANIMAL_STORE_|PORT$|PG)/.test(name));
  const options = { cwd, env: { ...Object.fromEntries(inherited), ...env }, stdio: ["ignore", "pipe", "pipe"] };
  programPath ??= installProgram();
  return spawn(process.execPath, [programPath, ...args], options);
}

/** As an operator has it: the package `pg` is found from where the program is. */
function installProgram() {
  const folder = guardedFolder("installation");
  cpSync(join(here, "..", "..", "dist"), join(folder, "dist"), { recursive: true });
  cpSync(join(here, "..", "..", "package.json"), join(folder, "package.json"));
  symlinkSync(join(here, "node_modules"), join(folder, "node_modules"));
  return join(folder, "dist", "server.js");
}

function collect(child) {
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) {
    child[name].setEncoding("utf8").on("data", (text) => (output[name] += text));
  }
  return output;
}
