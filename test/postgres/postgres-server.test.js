import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { skip, skipFaults, startPostgres } from "./postgres-server.js";
import { until } from "./guarded-folder.js";

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

test("what is committed survives kills, on the same address", { skip: skipFaults }, async () => {
  const url = await postgres.createDatabase();
  await postgres.query("CREATE TABLE written (round int)", [], url);
  for (const round of [1, 2]) {
    await postgres.query("INSERT INTO written VALUES ($1)", [round], url);
    await postgres.kill();
    await assert.rejects(postgres.query("SELECT 1", [], url), { code: "ECONNREFUSED" });
    await postgres.restart();
    assert.equal((await postgres.query("SELECT FROM written", [], url)).length, round);
  }
});

test("PostgreSQL is shut down and started again while clients are connected", { skip: skipFaults }, async () => {
  const client = await connected(postgres.url());
  await postgres.shutDown();
  await assert.rejects(client.query("SELECT 1"));
  await postgres.restart();
  await postgres.restart();
  assert.equal((await postgres.query("SELECT 1")).length, 1);
});

test("connections to one database are ended, others stay", { skip }, async () => {
  const [url, otherUrl] = [await postgres.createDatabase(), await postgres.createDatabase()];
  const [client, other] = [await connected(url), await connected(otherUrl)];
  const failure = new Promise((resolve) => client.once("error", resolve));
  assert.equal(await postgres.terminateBackends(url), 1);
  assert.equal((await failure).code, "57P01");
  assert.deepEqual((await postgres.backends(otherUrl)).map(({ pid }) => pid), [other.processID]);
  await other.end();
});

test("a stopped backend holds its locks until it goes on", { skip: skipFaults }, async () => {
  const url = await postgres.createDatabase();
  await postgres.query("CREATE TABLE counter AS SELECT 0 AS value", [], url);
  const client = await connected(url);
  await client.query("BEGIN; UPDATE counter SET value = value + 1");
  postgres.pause(client.processID);
  const committed = client.query("COMMIT");
  const hasty = "SET lock_timeout = 100; UPDATE counter SET value = 10";
  const other = await connected(url);
  await assert.rejects(other.query(hasty), { code: "55P03" });
  postgres.resume(client.processID);
  await committed;
  await other.query(hasty);
  await Promise.all([client.end(), other.end()]);
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

async function connected(connectionString) {
  const client = new pg.Client({ connectionString });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

/** Runs the tests beside this file in another environment. */
function runTests(env) {
  const { NODE_TEST_CONTEXT, ...inherited } = process.env;
  const args = ["--test", "--test-reporter=tap", "proxy.test.js", "neighbours.test.js"];
  return spawnSync(process.execPath, args, { cwd: here, env: { ...inherited, ...env }, encoding: "utf8" });
}
