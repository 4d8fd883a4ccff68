/**
 * The recipe `ha` of the manual on this machine: three folders stand for its three machines. Its files are used as they
 * are, but for addresses, folders and the password.
 */

import { execFile, spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { GivenServer } from "./postgres-server.js";
import { freePort } from "../../build/test/support/free-port.js";
import { until } from "../../build/test/support/until.js";
import { killAllIn, processesIn, removeFolder, sendSignal } from "./guarded-folder.js";
import { installation, ownFolder, reachable, skipFaults, user } from "./installation.js";

const missing = ["patroni", "etcd", "haproxy"].filter((program) => spawnSync(program, ["--version"]).error !== undefined);
const hasPostgres = installation !== undefined && existsSync(join(installation.root, "bin", "pg_basebackup"));

/** Why there is no such cluster for a test, or false. */
export const skipFailover =
  skipFaults ||
  (missing.length > 0 && `${missing.join(", ")} not installed (Debian: patroni etcd-server haproxy)`) ||
  (!hasPostgres && "this PostgreSQL is without pg_basebackup (Debian: postgresql)");

/** Starts it, and resolves when a standby is synchronous. */
export async function startCluster() {
  const folder = ownFolder("cluster");
  const bin = reachable(installation, folder);
  const ports = new Map();
  /** Where something listens that the recipe has at `place`. */
  const addressOf = async (place) => {
    ports.set(place, ports.get(place) ?? (await freePort()));
    return `127.0.0.1:${ports.get(place)}`;
  };
  const fill = async (file, { name, address, folder: ownFolder } = {}) => {
    let text = readFileSync(new URL(`../../src/manual/recipes/ha/${file}`, import.meta.url), "utf8");
    text = text.replaceAll("MACHINE", name).replaceAll("ADDRESS", address).replaceAll("PASSWORD", "secret");
    for (const place of new Set(text.match(/\b(10\.0\.0\.\d|127\.0\.0\.1):\d+/g))) {
      text = text.replaceAll(place, await addressOf(place));
    }
    const [network, folders] = ["10.0.0.0/24", /\/var\/(lib|run)\/\w+/g];
    return text.replaceAll(network, "127.0.0.1/32").replaceAll("/usr/lib/postgresql/15/bin", bin).replaceAll(folders, ownFolder);
  };

  const machines = [1, 2, 3].map((n) => new Machine(`db${n}`, `10.0.0.${n}`, join(folder, `db${n}`)));
  for (const machine of machines) {
    mkdirSync(machine.folder);
    writeFileSync(join(machine.folder, "patroni.yml"), await fill("patroni.yml", machine));
    writeFileSync(join(machine.folder, "etcd.conf"), await fill("etcd.conf", machine));
  }
  const proxyFolder = join(folder, "haproxy");
  mkdirSync(proxyFolder);
  writeFileSync(join(proxyFolder, "haproxy.cfg"), await fill("haproxy.cfg"));
  if (user.uid !== undefined) {
    spawnSync("chown", ["-R", `${user.uid}:${user.gid}`, folder]);
  }
  machines.forEach((machine) => machine.start());
  start(proxyFolder, "haproxy", ["-f", "haproxy.cfg"]);

  const cluster = new Cluster(folder, machines, {
    server: new GivenServer(`postgres://postgres:secret@${await addressOf("127.0.0.1:5432")}/postgres`),
    state: `http://${await addressOf("127.0.0.1:7000")}/;csv`,
    patroni: await Promise.all(machines.map(async ({ address }) => `http://${await addressOf(`${address}:8008`)}/cluster`)),
  });
  await cluster.settled();
  return cluster;
}

class Cluster {
  #folder;
  #machines;
  #addresses;

  constructor(folder, machines, { server, ...addresses }) {
    this.#folder = folder;
    this.#machines = machines;
    this.#addresses = addresses;
    /** The primary, through HAProxy. */
    this.server = server;
  }

  machine(name) {
    return this.#machines.find((machine) => machine.name === name);
  }

  /** The machine to which HAProxy leads, if it is one. */
  async leader() {
    const lines = (await (await fetch(this.#addresses.state)).text()).split("\n");
    const up = lines.map((line) => /^primary,(db\d),.*,UP\b/.exec(line)?.[1]).filter((name) => name !== undefined);
    return up.length === 1 ? this.machine(up[0]) : undefined;
  }

  /** Whether Patroni has named a synchronous standby of the machine to which HAProxy leads. */
  async hasNamed() {
    const [members, primary] = [await this.#members(), await this.leader()];
    const isLeader = members.some(({ role, name }) => role === "leader" && name === primary?.name);
    return isLeader && members.some(({ role }) => role === "sync_standby");
  }

  /** Resolves with the primary when both others follow it, and Patroni knows which one is synchronous. */
  settled() {
    const check = async () => {
      const members = await this.#members();
      const leader = members.find(({ role }) => role === "leader");
      const isWhole = members.filter(({ state, timeline }) => state === "running" && timeline === leader?.timeline).length === 3;
      return isWhole && (await this.hasNamed()) && this.leader();
    };
    return until("the cluster is whole", check, { timeoutMs: 60_000 });
  }

  /** Kills all of it, and removes its folder. */
  stop() {
    return removeFolder(this.#folder);
  }

  /** What Patroni says, on the first machine that answers. */
  async #members() {
    for (const address of this.#addresses.patroni) {
      const response = await fetch(address, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
      if (response?.ok) {
        return (await response.json()).members;
      }
    }
    return [];
  }
}

class Machine {
  constructor(name, address, folder) {
    Object.assign(this, { name, address, folder });
  }

  start() {
    const lines = readFileSync(join(this.folder, "etcd.conf"), "utf8").matchAll(/^(\w+)=(.*)$/gm);
    start(this.folder, "etcd", [], Object.fromEntries(Array.from(lines, ([, name, value]) => [name, value])));
    start(this.folder, "patroni", ["patroni.yml"]);
  }

  /** Kills PostgreSQL, Patroni and etcd at once, as a loss of power does. */
  kill() {
    return killAllIn(this.folder);
  }

  /** Stops all three, so that nobody hears of it. */
  pause() {
    processesIn(this.folder).forEach((pid) => sendSignal(pid, "SIGSTOP"));
  }

  resume() {
    processesIn(this.folder).forEach((pid) => sendSignal(pid, "SIGCONT"));
  }

  /** Makes another one the primary, as an operator does. */
  async switchOver() {
    const args = ["-c", "patroni.yml", "switchover", "--master", this.name, "--force"];
    await promisify(execFile)("patronictl", args, { cwd: this.folder, ...user });
  }
}

/** Starts a program whose output goes to a file beside its settings. */
function start(cwd, program, args, settings = {}) {
  const log = openSync(join(cwd, `${program}.log`), "a");
  const env = { PATH: process.env.PATH, HOME: cwd, ...settings };
  spawn(program, args, { cwd, env, stdio: ["ignore", log, log], ...user }).unref();
  closeSync(log);
}
