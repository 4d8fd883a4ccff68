/**
 * PgBouncer in front of PostgreSQL, in transaction mode.
 */

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../build/test/support/free-port.js";
import { startProcess } from "../../build/test/support/program.js";
import { removeFolder } from "./guarded-folder.js";
import { ownFolder, skipFaults, user } from "./installation.js";

const program = "/usr/sbin/pgbouncer";
const isMissing = spawnSync(program, ["--version"]).error !== undefined;

/** Why there is no PgBouncer for a test, or false. */
export const skipPgBouncer = skipFaults || (isMissing && "PgBouncer is not installed (Debian: pgbouncer)");

/**
 * `urlOf(url)`: a database's address through PgBouncer. `stop()` kills it.
 *
 * @param user whom it connects as
 * @param settings as in the section [pgbouncer] of its file, such as `{ default_pool_size: 5 }`
 */
export async function startPgBouncer(postgres, { settings = {}, user: role = "app" } = {}) {
  const folder = ownFolder("pgbouncer");
  const port = await freePort();
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "any",
    pool_mode: "transaction",
    max_client_conn: 500,
    server_login_retry: 1, // The default, 15 s, is how long it would say that PostgreSQL is away after it is back.
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  const databases = `* = host=127.0.0.1 port=${postgres.port} user=${role}`;
  writeFileSync(join(folder, "pgbouncer.ini"), ["[databases]", databases, "[pgbouncer]", ...lines, ""].join("\n"));
  const options = { cwd: folder, stdio: ["ignore", "ignore", "pipe"], ...user };
  const { process: child } = await startProcess(undefined, program, ["pgbouncer.ini"], /process up/, options);
  child.unref();
  child.stderr.unref();
  return {
    urlOf: (url) => Object.assign(new URL(url), { hostname: "127.0.0.1", port }).href,
    stop: () => removeFolder(folder),
  };
}
