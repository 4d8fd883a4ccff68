/**
 * What this machine has and lacks: cores, pinning, wrk, Go, a disk that really syncs. The report names what is missing.
 * It has no host names and no paths.
 */
import { execFileSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { availableParallelism, cpus, totalmem, type } from "node:os";

/** Server and load run on different cores, so that neither takes time from the other. */
const serverCore = 0;
const loadCore = 1;

function outputOf(command, ...args) {
  try {
    return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    // wrk prints its version and exits with 1, so the output counts even then. A missing program has none.
    return error.code === "ENOENT" ? undefined : `${error.stdout ?? ""}${error.stderr ?? ""}`;
  }
}

const coreCount = availableParallelism();
const tasksetWorks = outputOf("taskset", "-c", `${serverCore},${loadCore}`, process.execPath, "-p", "'pinned'");

export const machine = {
  coreCount,
  isPinned: coreCount > 1 && tasksetWorks?.includes("pinned") === true,
  wrk: outputOf("wrk", "-v")?.match(/^wrk \S+/m)?.[0],
  go: outputOf("go", "version")?.match(/go\d[\d.]*/)?.[0],
};

/** @returns {[string, string[]]} the command that runs it on the core of its role, where the machine can */
export function pinned(role, command, args) {
  if (!machine.isPinned) return [command, [...args]];
  const core = role === "server" ? serverCore : loadCore;
  return ["taskset", ["-c", String(core), command, ...args]];
}

/** @param {string} folder where the servers keep their animals */
export function describeMachine(folder) {
  const gib = (totalmem() / 2 ** 30).toFixed(0);
  const lines = [
    `${coreCount} ${coreCount === 1 ? "core" : "cores"} (${cpus()[0]?.model.trim() ?? "unknown"}), ${gib} GiB, ` +
      `${type()}, Node ${process.versions.node}`,
    machine.isPinned
      ? `server on core ${serverCore}, load on core ${loadCore}`
      : `**not pinned** (${coreCount === 1 ? "one core" : "no taskset"}): server and load disturb each other`,
    machine.wrk ?? "**no wrk**: the load comes from test/bench/generator.js, which is slower than wrk",
  ];
  if (isMemoryFolder(folder)) lines.push("**the data folder is in memory**: durable writes cost nothing there");
  return lines;
}

/** On tmpfs and ramfs fdatasync does nothing (numbers: statfs(2)). */
function isMemoryFolder(folder) {
  return [0x01021994, 0x858458f6].includes(statfsSync(folder).type);
}
