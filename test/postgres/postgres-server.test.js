import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { until } from "../../build/test/support/until.js";
import { skip, skipFaults, startPostgres } from "./postgres-server.js";

const here = fileURLToPath(new URL(".", import.meta.url));
let postgres;
before(async () => {
  postgres = await startPostgres({ settings: { application_name: "it's" } });
});
after(() => postgres?.stop());

test("PostgreSQL is of the wanted release, with the wanted settings, and syncs", { skip: skipFaults }, async () => {
  assert.equal(String(postgres.release), process.env.POSTGRES_RELEASE ?? String(postgres.release));
  const setting = async (name) => (await postgres.query(`SELECT current_setting('${name}') AS is`))[0].is;
  assert.match(await setting("server_version"), new RegExp(`^${postgres.release}\\.`));
  assert.equal(await setting("application_name"), "it's");
  assert.equal(await setting("fsync"), "on");
  assert.equal(await setting("listen_addresses"), "127.0.0.1");
  await postgres.set("work_mem", "5MB");
  assert.equal(await setting("work_mem"), "5MB");
});

test("PostgreSQL ends, and its folder goes, when the test process is killed", { skip: skipFaults }, async () => {
  const code = `
    import { startPostgres } from "./postgres-server.js";
    const { folder, port } = await startPostgres();
    process.stdout.write(JSON.stringify({ folder, port }), () => process.kill(process.pid, "SIGKILL"));`;
  const { stdout, signal } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { cwd: here, encoding: "utf8" });
  assert.equal(signal, "SIGKILL");
  const { folder, port } = JSON.parse(stdout);
  await until("the folder is gone", () => !existsSync(folder));
  await assert.rejects(postgres.query("SELECT 1", [], `postgres://app@127.0.0.1:${port}/postgres`), { code: "ECONNREFUSED" });
});

test("without PostgreSQL, tests are skipped and say why", () => {
  const { status, stdout } = runTests({ POSTGRES_RELEASE: "none" });
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^# pass 0$/m);
  assert.match(stdout, /# SKIP PostgreSQL none is not installed/);
});

test("on a given address, tests run, drop their databases, and skip what only an own process allows", { skip: skipFaults }, async () => {
  const { status, stdout } = runTests({ ANIMAL_STORE_TEST_DATABASE: postgres.url() });
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^# pass [1-9]/m);
  assert.match(stdout, /# SKIP the process of ANIMAL_STORE_TEST_DATABASE is not ours to kill/);
  const left = await postgres.query("SELECT FROM pg_database WHERE datname ~ 'test' AND datname !~ $1", [`_${process.pid}_`]);
  assert.equal(left.length, 0);
});

/** Runs the tests beside this file in another environment. */
function runTests(env) {
  const { NODE_TEST_CONTEXT, ...inherited } = process.env;
  const args = ["--test", "--test-reporter=tap", "proxy.test.js", "faults-network.test.js"];
  return spawnSync(process.execPath, args, { cwd: here, env: { ...inherited, ...env }, encoding: "utf8" });
}
