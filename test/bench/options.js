/** Flags of the bench's programs, and the folder they work in. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { workloads } from "./workloads.js";

/** Where `npm run build` puts the service. */
export const ownBuild = resolve(import.meta.dirname, "../../dist");

export function exitWithUsage(message) {
  console.error(message);
  process.exit(2);
}

/** @param {string} help printed for --help */
export function readFlags(help, flags) {
  try {
    const { values, positionals } = parseArgs({
      options: { help: { type: "boolean" }, ...flags },
      allowPositionals: true,
    });
    if (values.help === true) {
      console.log(help);
      process.exit(0);
    }
    return { values, positionals };
  } catch (error) {
    return exitWithUsage(error.message);
  }
}

/**
 * @param {string} path a folder with server.js
 * @returns {string} its absolute path, or the program ends
 */
export function findBuild(path) {
  if (existsSync(join(path, "server.js"))) return resolve(path);
  return exitWithUsage(`There is no build at ${path}: npm ci && npm run build`);
}

/** @returns {number} a whole number above 0 (wrk counts in whole seconds), or the program ends */
export function readCount(flag, text) {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1) return count;
  return exitWithUsage(`--${flag}: must be an integer >= 1, received "${text}"`);
}

/** @param {string | undefined} text ids, comma separated; undefined is all */
export function choose(flag, text, known) {
  if (text === undefined) return known;
  const names = text.split(",").filter((name) => name !== "");
  const unknown = names.find((name) => !known.some(({ id }) => id === name));
  if (unknown !== undefined) exitWithUsage(`--${flag}: "${unknown}" is none of ${known.map(({ id }) => id).join(", ")}`);
  return known.filter(({ id }) => names.includes(id));
}

export function chooseWorkloads(text) {
  return choose("only", text, workloads);
}

/**
 * Runs `work` with a new folder and removes it afterwards. The folder is in the project. The system's temporary folder is
 * often in memory, where durable writes cost nothing.
 */
export async function inFolder(work) {
  const build = resolve(import.meta.dirname, "../../build");
  mkdirSync(build, { recursive: true });
  const folder = mkdtempSync(join(build, "bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  try {
    await work(folder);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
