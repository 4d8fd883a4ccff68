/**
 * Runs nginx in front of the service, with a site from the recipes.
 */

import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { type RunningProcess, startProcess } from "./program.ts";

/** The reason to skip a test of nginx, or false. */
export const skipNginx: string | false = spawnSync("nginx", ["-v"]).error === undefined ? false : "nginx is not installed (Debian: nginx)";

/** All files of nginx are in the folder. The caller stops it with SIGQUIT. @param site the content of its block `http` */
export async function startNginx(folder: string, site: string): Promise<RunningProcess> {
  chmodSync(folder, 0o755); // If root starts nginx, its workers run as another user.
  const path = join(folder, "nginx.conf");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${name};`);
  const around = ["daemon off;", "pid nginx.pid;", "error_log stderr notice;", "events {}"];
  writeFileSync(path, [...around, "http {", "access_log off;", ...temporary, site, "}", ""].join("\n"));
  return startProcess(undefined, "nginx", ["-p", folder, "-c", path, "-e", "stderr"], /start worker process/, { cwd: folder });
}
