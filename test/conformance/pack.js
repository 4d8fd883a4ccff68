/**
 * Makes the package that would be published and unpacks it into node_modules. So everything here imports "animal-store"
 * as its users do: from the tarball, not from the sources.
 */

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const generated = join(here, "generated");
const installed = join(here, "node_modules", "animal-store");
const command = join(here, "node_modules", ".bin", "animal-store");

rmSync(generated, { recursive: true, force: true });
rmSync(installed, { recursive: true, force: true });
rmSync(command, { force: true });
mkdirSync(generated);
mkdirSync(installed);

const root = join(here, "..", "..");
rmSync(join(root, "dist"), { recursive: true, force: true }); // Packing builds it, without files of an earlier build.
const pack = ["pack", "--json", "--pack-destination", generated];
const report = execFileSync("npm", pack, { cwd: root, encoding: "utf8" });
writeFileSync(join(generated, "pack.json"), report);
const [{ filename }] = JSON.parse(report);
execFileSync("tar", ["-xzf", join(generated, filename), "-C", installed, "--strip-components=1"]);
chmodSync(join(installed, "dist", "server.js"), 0o755);
symlinkSync("../animal-store/dist/server.js", command);
for (const programs of [join(root, "src", "manual", "recipes", "embedding"), join(here, "embedding")]) {
  cpSync(programs, join(generated, "embedding"), { recursive: true }); // They import what is here.
}
