/**
 * What the page for production tells root to type, as it is written: install, back up, restore, upgrade, and go back; what
 * is done again at the next fault or release, twice. It runs in a mount namespace with folders of its own in place of
 * /etc, /opt and /var, and with a stand-in for systemctl that starts the unit's command as the unit's user.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../../build/test/support/free-port.js";
import { temporaryFolder } from "../../build/test/support/temporary-folder.js";
import { project } from "./examples.js";

const canUnshare = process.getuid() === 0 && spawnSync("unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/opt"]).status === 0;
const skip = !canUnshare && "this needs root and a mount namespace";

const systemctl = `#!/bin/sh
unit=/etc/systemd/system/animal-store.service
value() { sed -n "s/^$1=//p" $unit; }
case $1 in
restart) systemctl stop; systemctl start ;;
stop) kill $(cat /var/pid) && while [ -S /var/lib/animal-store/server.lock ]; do sleep 0.1; done ;;
*) env $(value Environment) runuser -u $(value User) -- $(value ExecStart) 2>> /var/journal >> /var/journal &
  until pid=$(pgrep -P $! -x node); do sleep 0.1; done; echo $pid > /var/pid ;;
esac
`;

test("root installs the service, backs it up, restores, upgrades and goes back, with the commands of the page", { skip }, async (context) => {
  const text = await readFile(join(project, "src", "manual", "production.md"), "utf8");
  const [port, metricsPort] = [await freePort(), await freePort()];
  const withPorts = (part) => part.replaceAll("3000", port).replaceAll("9464", metricsPort);
  const [install, restore, upgrade] = Array.from(text.matchAll(/^```sh\n(.*?)^```$/gms), ([, block]) => withPorts(block));
  const [, backup] = /`(mkdir .*?)`/.exec(text);
  const [, back] = /^To go back: `(.*?)`/m.exec(text);
  const clone = temporaryFolder(context);
  for (const name of ["package.json", "package-lock.json", "tsconfig.json", "src"]) {
    await cp(join(project, name), join(clone, name), { recursive: true });
  }
  const unit = join(clone, "src", "manual", "recipes", "animal-store.service");
  await writeFile(unit, withPorts(await readFile(unit, "utf8")).replace("/usr/bin/node", process.execPath));
  await writeFile(join(clone, "systemctl"), systemctl, { mode: 0o755 });
  const script = `set -eu; trap 'kill $(cat /var/pid) 2>&- || true' EXIT; cd ${clone}; export PORT=${port} PATH=${clone}:$PATH
cp -a /etc etc; mount --bind etc /etc; mkdir -p /etc/systemd/system; mount -t tmpfs none /opt; mount -t tmpfs none /var
mkdir -m 755 /var/lib /var/backups
curl() { command curl -s --retry 50 --retry-connrefused "$@"; }
date() { cat /proc/sys/kernel/random/uuid; } # Nobody restores twice in a second.
pets() { curl http://127.0.0.1:${port}/v1/pets -H "Authorization: Bearer $KEY" "$@"; echo; }
{ ${install} } > installed; cat installed
KEY=$(grep '^as_' installed)
${backup}
pets -H "Content-Type: application/json" -d '{"name":"Rex","categoryId":1}'
${backup}
pets -H "Content-Type: application/json" -d '{"name":"lost","categoryId":1}'
${restore}
pets > /dev/null # It serves, and no command takes away what a start has not loaded yet.
${restore}
pets > /dev/null
${upgrade}
pets > /dev/null
touch /opt/animal-store/first; ${upgrade.replace("npm ci && npm run build", "")}
${back}; systemctl restart; pets
echo $(ls -d /var/lib/animal-store.* | wc -l) saved, $(cd /opt; echo * */*); stat -c %U /var/lib/animal-store/*.json*; systemctl stop; cat /var/journal`;
  const { status, stdout, stderr } = spawnSync("unshare", ["--mount", "bash", "-c", script], { encoding: "utf8", timeout: 240_000 });
  assert.equal(status, 0, stdout + stderr);
  const rex = '{"id":1,"name":"Rex","categoryId":1,"status":"available"}';
  assert.match(stdout, /^\{"status":"ok"\}/m, stdout);
  assert.ok(stdout.includes(`\n[${rex}]\n`), stdout);
  assert.equal(stdout.match(/^the server would start$/gm).length, 4, stdout);
  assert.match(stdout, /^2 saved, animal-store animal-store\/dist animal-store\/first animal-store\/package\.json$/m, stdout);
  assert.doesNotMatch(stdout, /^(?:root|nobody)$/m, stdout);
});
