/**
 * Starts instances on one database and has all of them do the same at a time. Also measures what that costs PostgreSQL.
 */
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { processesIn } from "../../postgres/guarded-folder.js";
import { animalLines } from "../workloads.js";
import { animalCount, singlesTable } from "./operations.js";

/** Linux counts processor time in these. */
const msPerTick = 10;

/** @typedef {{ count: number, perSecond: number, p50Ms: number, p99Ms: number, longestGapMs: number,
 *   statements: number, nodeUs: number, serverUs: number, walBytes: number }} Measured  the last four for each request */

export class Instances {
  #postgres;
  #url;
  #children = [];

  /**
   * @param {object} postgres of test/postgres/postgres-server.js
   * @param {string} dist the build
   */
  static async start(postgres, dist, count) {
    const instances = new Instances(postgres, await postgres.createDatabase());
    for (let index = 0; index < count; index += 1) await instances.#startOne(dist);
    await addAnimals(instances.#url);
    await postgres.query(singlesTable, [], instances.#url);
    return instances;
  }

  constructor(postgres, url) {
    this.#postgres = postgres;
    this.#url = url;
  }

  async #startOne(dist) {
    const child = fork(join(import.meta.dirname, "instance.js"), [dist, this.#url]);
    this.#children.push(child);
    await new Promise((resolve, reject) => {
      child.once("message", resolve);
      child.once("exit", (code) => reject(new Error(`an instance ended with ${code}`)));
    });
  }

  /**
   * @param {object} task see instance.js
   * @param {number} count how many instances do it, from the first one
   */
  async run(task, count, { whileRunning } = {}) {
    const cpuBefore = serverCpuMs(this.#postgres);
    const walBefore = await this.#walPosition();
    const children = this.#children.slice(0, count);
    const working = Promise.all(children.map((child) => ask(child, task)));
    await whileRunning?.(children.map(({ pid }) => pid));
    const each = await working;
    const cpuMs = serverCpuMs(this.#postgres) - cpuBefore;
    const walBytes = (await this.#walPosition()) - walBefore;
    const sum = (name) => each.reduce((total, one) => total + one[name], 0);
    const worst = (name) => Math.max(...each.map((one) => one[name]));
    const done = sum("count");
    const all = {
      count: done,
      perSecond: each.reduce((total, one) => total + one.count / one.seconds, 0),
      p50Ms: worst("p50Ms"),
      p99Ms: worst("p99Ms"),
      longestGapMs: worst("longestGapMs"),
      statements: sum("statements") / done,
      nodeUs: (sum("cpuMs") * 1_000) / done,
      serverUs: (cpuMs * 1_000) / done,
      walBytes: walBytes / done,
    };
    return { all, each };
  }

  stop() {
    for (const child of this.#children) child.kill("SIGKILL");
  }

  async #walPosition() {
    const [row] = await this.#postgres.query("SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes", [], this.#url);
    return Number(row.bytes);
  }
}

/** Puts the animals of the bench into an empty catalogue, and its counter after them. */
export async function addAnimals(url) {
  const lines = animalLines(animalCount).trimEnd().split("\n");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(
      `INSERT INTO animal_store.pets SELECT place, line ->> 'name', (line ->> 'categoryId')::bigint, line ->> 'status'
        FROM unnest($1::jsonb[]) WITH ORDINALITY AS one(line, place)`,
      [lines],
    );
    await client.query("UPDATE animal_store.counter SET last = $1", [animalCount]);
    await client.query("VACUUM ANALYZE animal_store.pets");
  } finally {
    await client.end();
  }
}

let taskCount = 0;

function ask(child, task) {
  taskCount += 1;
  const id = taskCount;
  return new Promise((resolve, reject) => {
    const onMessage = (message) => {
      if (message.id !== id) return;
      child.off("message", onMessage);
      if (message.fault === undefined) resolve(message.result);
      else reject(new Error(`${task.operation}: ${message.fault}`));
    };
    child.on("message", onMessage);
    child.send({ id, task });
  });
}

/** Processor time of all of PostgreSQL's processes, in milliseconds. Its connections stay open during a round. */
function serverCpuMs({ folder }) {
  const times = processesIn(folder).map((pid) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /s, "").split(" ");
      return (Number(fields[11]) + Number(fields[12])) * msPerTick;
    } catch {
      return 0; // It has ended.
    }
  });
  return times.reduce((total, ms) => total + ms, 0);
}
