/**
 * A database on a disk that can be filled.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { skipFaults, user } from "./installation.js";

/** Why there is no such disk for a test, or false. */
export const skipSmallDisk = skipFaults || (user.uid === undefined && "only root mounts a disk");

/**
 * Makes an empty database on a disk of its own; the log of PostgreSQL is elsewhere. `fill()` leaves no byte on the disk:
 * what needs a new page then fails with 53100. `free()` makes room again. The disk goes with PostgreSQL.
 */
export async function createDatabaseOnSmallDisk(postgres) {
  const disk = join(postgres.folder, "disk");
  const filler = join(disk, "filler");
  const place = join(disk, "tablespace");
  mkdirSync(disk);
  run("mount", "-t", "tmpfs", "-o", "size=32m,mode=755", "tmpfs", disk);
  mkdirSync(place);
  run("chown", `${user.uid}:${user.gid}`, place);
  await postgres.query(`CREATE TABLESPACE small LOCATION '${place}'`);
  return {
    url: await postgres.createDatabase("TABLESPACE small"),
    fill() {
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(filler, Buffer.alloc(bavail * bsize));
    },
    free: () => rmSync(filler, { force: true }),
  };
}

function run(command, ...args) {
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) {
    throw new Error(`Cannot ${command}: ${stderr}`);
  }
}
