/**
 * The packed program, running with a folder of its own on a free port, and commands of the judges.
 */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const here = dirname(fileURLToPath(import.meta.url));
/** The program of the packed package. */
export const programPath = join(here, "node_modules", "animal-store", "dist", "server.js");

/** Starts the server. `args` follow its port and folder. `stop` ends it, and fails unless the exit code is 0. */
export async function startService(args = [], plan = "business") {
  const dataDir = await mkdtemp(join(tmpdir(), "animal-store-judges-"));
  const apiKey = createKey(dataDir, plan);
  const { child, firstLine } = await startProgram([programPath, "--port", "0", "--data", dataDir, ...args]);
  const baseUrl = /^listening on (http:\S+\/v1) /.exec(firstLine)?.[1];
  const stop = async () => {
    await stopProgram(child);
    await rm(dataDir, { recursive: true });
  };
  return { baseUrl, origin: new URL(baseUrl).origin, apiKey, dataDir, stop };
}

/** Sends the request, with content or without, and resolves to the whole response. */
export function wholeResponse(outgoing, content) {
  return new Promise((resolve, reject) => {
    outgoing.on("response", (incoming) => {
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk) => (text += chunk));
      incoming.on("end", () => resolve({ status: incoming.statusCode, headers: incoming.headers, text }));
    });
    outgoing.on("error", reject);
    outgoing.end(content);
  });
}

/** @returns the key, as the command prints it */
export function createKey(dataDir, plan) {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [programPath, "keys", "create", "--data", dataDir, "--plan", plan],
    { encoding: "utf8" },
  );
  if (status !== 0) {
    throw new Error(`Cannot create a key: ${stderr}`);
  }
  return stdout.trim();
}

/** Resolves with the first line that the program prints. If the program fails, the error shows its stderr. */
export async function startProgram(args, options = {}) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  let said = "";
  child.stderr.on("data", (text) => (said += text));
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "exit").then(() => {
    throw new Error(`Cannot start ${args.join(" ")}: it ended and said ${said}`);
  });
  const [firstLine] = await Promise.race([once(lines, "line"), ended]);
  ended.catch(() => undefined); // From here on `stopProgram` judges the exit.
  return { child, firstLine };
}

/** Sends SIGTERM. Fails unless the program then ends by itself with code 0. */
export async function stopProgram(child) {
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
  const [code, signal] = await exited;
  clearTimeout(timer);
  if (code !== 0) {
    throw new Error(`Cannot stop the program: it ended with ${signal ?? code}`);
  }
}

/** A port that is free at this moment, for programs that cannot pick one. */
export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Runs a program of node_modules/.bin to its end, without colours, updates or telemetry. */
export function runJudge(name, args) {
  const { stdout, stderr, status } = spawnSync(join(here, "node_modules", ".bin", name), args, {
    cwd: here,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
  });
  return { output: `${stdout}${stderr}`, status };
}
