/**
 * The examples of a document, run as they are written, in a folder of their own.
 *
 * A block with a file's name behind its language becomes that file. A `console` block is a session: one shell runs what
 * follows `$ ` in all of them, in order, and each command must print what is shown below it, where `…` is any text.
 * `as_…` in a command is a Free key of a service that the judge has started, and 3000 the port of that service. Other
 * ports are free ones. A `sh` block is left to its own test.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { freePort } from "../../build/test/support/free-port.js";
import { here, startService } from "./running-service.js";

export const project = join(here, "..", "..");
const fence = /^```([a-z]+)(?: (\S+))?\n(.*?)^```$/gms;
const sampleKey = "as_…";
/** Between the outputs of two commands. */
const separator = "\x1e";
const timeLimitMs = 120_000;

/** Without the progress. It waits for a program that was started by the command before only if the document says so. */
const quietCurl = 'curl() { command curl -s "$@"; }';

/** @returns what each command of the document should print, as a pattern, and what it printed */
export async function runExamples(context, document) {
  const text = await readFile(join(project, document), "utf8");
  const folder = await mkdtemp(join(tmpdir(), `animal-store-${basename(document, ".md")}-`));
  context.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "package.json"), '{"private":true}');
  await symlink(join(here, "node_modules"), join(folder, "node_modules"));
  for (const part of ["dist", "src"]) {
    await symlink(join(here, "node_modules", "animal-store", part), join(folder, part));
  }

  const ports = new Map();
  for (const [port] of text.matchAll(/\b(3000|3443|8080|9464)\b/g)) {
    ports.set(port, String(await freePort()));
  }
  let key = "";
  if (text.includes(sampleKey)) {
    const service = await startService([], "free");
    context.after(() => service.stop());
    ports.set("3000", new URL(service.origin).port);
    key = service.apiKey;
  }
  const withPorts = (part) => part.replace(/\b\d{4}\b/g, (port) => ports.get(port) ?? port);

  const steps = [];
  for (const [, language, name, code] of text.matchAll(fence)) {
    if (name !== undefined) {
      await writeFile(join(folder, name), withPorts(code));
    }
    if (name === undefined && !["console", "sh"].includes(language)) {
      throw new Error(`Cannot run an example of ${document}: it has no file name:\n${code}`);
    }
    if (language === "console") {
      steps.push(...withPorts(code).split(/^\$ /m).slice(1).map((step) => readStep(step, key)));
    }
  }
  const commands = steps.map(({ command }) => `${command}\nprintf '${separator}'\n`);
  const printed = await runShell(`${quietCurl}\n${commands.join("")}kill $(jobs -p) 2>&-; wait`, { cwd: folder, port: ports.get("3000") });
  const outputs = printed.split(separator);
  return steps.map((step, index) => ({ ...step, printed: (outputs[index] ?? "nothing: it was not run").replaceAll("\r", "").trim() }));
}

/** The command goes on in the next line after `\`. */
function readStep(step, key) {
  const [, command, shown] = /^((?:[^\n]*\\\n)*[^\n]*)\n?(.*)$/s.exec(step);
  const pattern = shown.trim().split("…").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join(".*");
  return { command: command.replace(sampleKey, key), expected: new RegExp(`^${pattern}$`, "s") };
}

/** Runs the script to its end. Its errors are shown, its output is returned. */
async function runShell(script, { cwd, port }) {
  const stdio = ["ignore", "pipe", "inherit"];
  const env = { ...process.env, PORT: port, NODE_TEST_CONTEXT: undefined }; // The program's default; no test of this run.
  const shell = spawn("bash", ["-c", script], { cwd, env, stdio, detached: true }); // The leader of a group.
  const timer = setTimeout(() => process.kill(-shell.pid, "SIGKILL"), timeLimitMs);
  let printed = "";
  shell.stdout.setEncoding("utf8").on("data", (chunk) => (printed += chunk));
  await once(shell, "close");
  clearTimeout(timer);
  return printed;
}
