/**
 * Which PostgreSQL the tests use, and as whom it runs.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { guardedFolder } from "./guarded-folder.js";

const here = dirname(fileURLToPath(import.meta.url));
/** The address of a PostgreSQL that runs already. */
export const given = process.env.ANIMAL_STORE_TEST_DATABASE;
const wantedRelease = process.env.POSTGRES_RELEASE;
export const installation = given === undefined ? findInstallation() : undefined;

const product = wantedRelease === undefined ? "PostgreSQL" : `PostgreSQL ${wantedRelease}`;

/** Why there is no PostgreSQL for a test, or false. */
export const skip =
  given === undefined && installation === undefined
    ? `${product} is not installed (Debian: postgresql; npm --prefix test/postgres ci --ignore-scripts)`
    : false;

/** Why a test cannot kill, stop or set up its PostgreSQL, or false. */
export const skipFaults = given === undefined ? skip : "the process of ANIMAL_STORE_TEST_DATABASE is not ours to kill";

/** PostgreSQL refuses to run as root. */
export const user = process.getuid?.() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : {};

/** A folder that PostgreSQL may use. */
export function ownFolder(name) {
  const folder = guardedFolder(name);
  if (user.uid !== undefined) {
    spawnSync("chown", [`${user.uid}:${user.gid}`, folder]);
  }
  return folder;
}

function findInstallation() {
  if (process.platform !== "linux") {
    return undefined;
  }
  const debian = "/usr/lib/postgresql";
  const releases = existsSync(debian) ? readdirSync(debian).sort((one, other) => Number(other) - Number(one)) : [];
  const places = releases.map((release) => ({ release: Number(release), root: join(debian, release) }));
  places.push(...[18, 17, 16].map((release) => ({ release, root: join(packageOf(release), "native") })));
  return places.find(({ release, root }) => {
    return existsSync(join(root, "bin", "initdb")) && (wantedRelease ?? String(release)) === String(release);
  });
}

/** Where npm installs that release. */
function packageOf(release) {
  return join(here, "node_modules", `postgres-${release}`);
}

/** @returns the programs' folder; a copy, if PostgreSQL's user cannot reach the checkout */
export function reachable({ release, root }, folder) {
  if (root === join(packageOf(release), "native")) {
    execFileSync(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: packageOf(release) }); // Its postinstall script.
  }
  if (spawnSync(join(root, "bin", "postgres"), ["--version"], { cwd: folder, ...user }).status === 0) {
    return join(root, "bin");
  }
  cpSync(root, join(folder, "program"), { recursive: true, verbatimSymlinks: true });
  return join(folder, "program", "bin");
}

function idOf(flag) {
  return Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
}
