/**
 * A temporary folder for this test process. When the process ends, in whatever way, a second process (this file, run as
 * a program) kills everything that still runs in the folder, and removes the folder.
 */

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "../../build/test/support/until.js";

const thisFile = fileURLToPath(import.meta.url);
let root;
let folderCount = 0;

/** Makes a folder that goes with this process. Start programs in it, or below: what runs elsewhere is not killed. */
export function guardedFolder(name) {
  if (root === undefined) {
    root = mkdtempSync(join(tmpdir(), "animal-store-postgres-"));
    spawnSync("chmod", ["711", root]); // Others run below it than who made it.
    const guard = spawn(process.execPath, [thisFile, root], { stdio: ["pipe", "ignore", "inherit"], detached: true });
    guard.unref();
    guard.stdin.unref();
  }
  folderCount += 1;
  const folder = join(root, `${name}-${folderCount}`);
  mkdirSync(folder);
  return folder;
}

/** @returns the ids of the processes whose working directory is the folder or below it, the oldest first */
export function processesIn(folder) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((one, other) => one - other)
    .filter((pid) => {
      try {
        return `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${folder}/`);
      } catch {
        return false; // It has ended, or belongs to somebody else.
      }
    });
}

/** Kills what runs in the folder, as a crash does, and resolves when all of it has ended. */
export async function killAllIn(folder) {
  await until(`nothing runs in ${folder}`, () => {
    const left = processesIn(folder);
    left.forEach((pid) => sendSignal(pid, "SIGKILL"));
    return left.length === 0;
  });
}

/** Kills what runs in the folder, and removes it with the disks that are mounted below it. */
export async function removeFolder(folder) {
  await killAllIn(folder);
  for (const line of readFileSync("/proc/mounts", "utf8").split("\n")) {
    const place = line.split(" ")[1];
    if (place?.startsWith(`${folder}/`)) {
      spawnSync("umount", [place]);
    }
  }
  rmSync(folder, { recursive: true, force: true });
}

/** Sends a signal, also to a process that has just ended. */
export function sendSignal(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") {
      throw error;
    }
  }
}

if (process.argv[1] === thisFile) {
  process.stdin.resume().on("close", () => removeFolder(process.argv[2]));
}
