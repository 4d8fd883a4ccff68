/**
 * The recipe of several instances, without Docker: its settings, its image's stages, and its nginx in front of three.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { newClient } from "../../build/test/support/client.js";
import { freePort } from "../../build/test/support/free-port.js";
import { skipNginx, startNginx } from "../../build/test/support/nginx.js";
import { skip, startPostgres } from "./postgres-server.js";
import { guardedFolder } from "./guarded-folder.js";
import { runCommand, startProgram } from "./program.js";

const quota = 300;

function recipe(name) {
  return readFileSync(fileURLToPath(new URL(`../../src/manual/recipes/${name}`, import.meta.url)), "utf8");
}

/** The environment of the instances in compose.yaml. */
function environment() {
  const [, block] = /\n {4}environment:\n((?: {6}.*\n)+)/.exec(recipe("compose.yaml"));
  return Object.fromEntries(Array.from(block.matchAll(/^ {6}(\w+): "?(.*?)"?$/gm), ([, name, value]) => [name, value]));
}

test("compose.yaml names settings, files and a stage of the image that exist", async () => {
  const compose = recipe("compose.yaml");
  const { stdout } = await runCommand(["--help"]);
  for (const name of Object.keys(environment()).filter((each) => each !== "PGPASSFILE")) {
    assert.match(stdout, new RegExp(`\\b${name}\\b`));
  }
  const [, target] = /^ {6}target: (\w+)$/m.exec(compose);
  assert.match(recipe("Dockerfile"), new RegExp(`^FROM \\w+ AS ${target}$`, "m"));
  const [, mounted] = /- \.\/(\S+):\/etc\/nginx\/conf\.d\/default\.conf:ro/.exec(compose);
  assert.match(recipe(mounted), /^upstream /m);
});

test("the password may stay out of the address and the environment: PGPASSFILE, as in compose.yaml", { skip }, async (context) => {
  const postgres = await startPostgres();
  context.after(() => postgres.stop());
  await postgres.query("CREATE ROLE kept LOGIN SUPERUSER PASSWORD 'p:ss'");
  const hba = join(postgres.folder, "data", "pg_hba.conf");
  writeFileSync(hba, `host all kept 127.0.0.1/32 scram-sha-256\n${readFileSync(hba, "utf8")}`);
  await postgres.query("SELECT pg_reload_conf()");
  const url = new URL(await postgres.createDatabase());
  url.username = "kept";
  const path = join(guardedFolder("pgpass"), "pgpass");
  const [, line] = /echo "(.*)" > pgpass/.exec(recipe("compose.yaml"));
  const filled = line.replace("postgres:5432:", `${url.hostname}:${url.port}:`).replace(":postgres:$", ":kept:$");
  writeFileSync(path, filled.replace("$(cat postgres-password)", "p\\:ss"), { mode: 0o600 });
  const address = { ANIMAL_STORE_DATABASE: url.href };
  const refused = await runCommand(["check"], { env: address });
  assert.deepEqual([refused.code === 0, /password/.test(refused.stdout + refused.stderr)], [false, true]);
  const { code, stdout, stderr } = await runCommand(["keys", "create"], { env: { ...address, PGPASSFILE: path } });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^as_/);
});

test("behind the recipe's nginx three instances are one service, also while each is killed and restarted", { skip: skip || skipNginx }, async (context) => {
  const postgres = await startPostgres();
  context.after(() => postgres.stop());
  const url = await postgres.createDatabase();
  const env = { ...environment(), ANIMAL_STORE_DATABASE: url };
  const create = ["keys", "create", "--plan", "enterprise", "--per-minute", String(quota), "--per-day", "10000"];
  const key = (await runCommand(create, { env })).stdout.trim();
  const programs = await Promise.all([1, 2, 3].map(() => startProgram([], { env })));
  context.after(() => Promise.all(programs.map((program) => program.kill())));
  const client = newClient({ origin: await startInFront(context, programs) }, key);
  context.after(client.close);

  const added = await client.add({ name: "Rex", categoryId: 1 });
  assert.equal(added.headers.location, `${env.ANIMAL_STORE_BASE_URL}/pets/1`);
  const responses = await Promise.all(Array.from({ length: quota + 20 }, () => client.get("/v1/pets/1")));
  const served = responses.filter(({ status }) => status === 200);
  assert.equal(served.length, quota - 1);
  const remaining = served.map(({ headers }) => Number(headers["x-ratelimit-remaining"])).sort((a, b) => a - b);
  assert.deepEqual(remaining, Array.from({ length: quota - 1 }, (_, index) => index));
  assert.equal(new Set(responses.map(({ headers }) => headers["x-ratelimit-reset"])).size, 1);

  for (const program of programs) {
    await program.kill();
    for (let count = 0; count < 6; count += 1) { // Each of the three would have its turn.
      assert.equal((await client.get("/v1/pets/1")).status, 429);
    }
    const { port } = new URL(program.origin);
    const restarted = await startProgram([], { env, port });
    context.after(() => restarted.kill());
  }
  assert.equal((await client.get("/v1/pets/1")).status, 429);
});

/** @returns its address */
async function startInFront(context, programs) {
  const port = await freePort();
  const servers = (_line, rest) => programs.map(({ origin }) => `server ${new URL(origin).host}${rest}`).join("\n");
  const site = recipe("balancer.conf").replace(/^ *server animals:3000(.*;)$/m, servers).replace("listen 80;", `listen 127.0.0.1:${port};`);
  const nginx = await startNginx(guardedFolder("nginx"), site);
  context.after(() => nginx.stop("SIGQUIT"));
  return `http://127.0.0.1:${port}`;
}
