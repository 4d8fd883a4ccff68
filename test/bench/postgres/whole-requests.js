/**
 * Whole HTTP requests: the service beside Fastify with what most people would put together, both on the same PostgreSQL,
 * each with a database of its own.
 */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { startServer } from "../processes.js";
import { formatRatio, table } from "../report.js";
import { interleave, median, rate } from "../rounds.js";
import { animalLines, workloads } from "../workloads.js";
import { addAnimals } from "./instances.js";
import { makeSchema } from "./make-schema.js";
import { animalCount } from "./operations.js";
import { whole } from "./rates.js";

const quotaMax = 1_000_000_000;
const chosen = workloads.filter(({ id }) => ["W1", "W3", "W4", "W4b"].includes(id));

/**
 * @param {object} postgres of test/postgres/postgres-server.js
 * @param {{ dist: string, folder: string, launches: number, rounds: number, seconds: number, warmUpSeconds: number,
 *   progress: (text: string) => void }} settings
 * @returns {Promise<string>} Markdown
 */
export async function measureWholeRequests(postgres, settings) {
  const contenders = [serviceOn(postgres, settings.dist), fastifyOn(postgres, settings.folder)];
  const rows = [];
  for (const workload of chosen) {
    settings.progress(`${workload.id} ${workload.title}`);
    const results = await interleave(contenders, workload, settings);
    const [service, fastify] = contenders.map(({ id }) => results.get(id));
    const ratios = service.map((round, index) => rate(round) / rate(fastify[index]));
    const spread = `${formatRatio(Math.min(...ratios))} - ${formatRatio(Math.max(...ratios))}`;
    const ofBoth = (value) => [service, fastify].map((rounds) => value(rounds));
    rows.push([
      `${workload.id} ${workload.title}`,
      `**${formatRatio(median(ratios))}**`,
      spread,
      ...ofBoth((rounds) => whole(median(rounds.map(rate)))),
      ...ofBoth((rounds) => median(rounds.map(({ p99Ms }) => p99Ms)).toFixed(1)),
    ]);
  }
  const head = ["service / Fastify", "ratio", "from - to", "service, requests/s", "Fastify", "service, p99 ms", "Fastify"];
  return table(head, rows);
}

/** The service, embedded, with 10,000 animals and two keys. */
function serviceOn(postgres, dist) {
  return {
    id: "service",
    label: "this service",
    async launch() {
      const url = await postgres.createDatabase();
      const keys = await prepare(url, dist);
      await addAnimals(url);
      const args = [join(import.meta.dirname, "service.js"), dist, url];
      return { server: await startServer({ command: process.execPath, args }), keys };
    },
  };
}

async function prepare(url, dist) {
  const { openAnimalStore } = await import(pathToFileURL(join(dist, "index.js")).href);
  const pool = new pg.Pool({ connectionString: url });
  await makeSchema(dist, pool);
  const store = await openAnimalStore({ database: pool });
  const createKey = async (count) => {
    const { key } = await store.keys.create({ plan: "enterprise", perMinute: count, perDay: count });
    return key;
  };
  const keys = { unlimited: await createKey(quotaMax), exhausted: await createKey(1) };
  await store.close();
  await pool.end();
  return keys;
}

/** Fastify with `pg` and `rate-limiter-flexible`, with the same animals and keys of the same kind. */
function fastifyOn(postgres, folder) {
  const animalsFile = join(folder, "animals.jsonl");
  writeFileSync(animalsFile, animalLines(animalCount));
  return {
    id: "fastify-postgres",
    label: "Fastify, PostgreSQL",
    async launch() {
      const env = { DATABASE_URL: await postgres.createDatabase() };
      const keys = { unlimited: randomBytes(32).toString("hex"), exhausted: randomBytes(32).toString("hex") };
      const plans = `${keys.unlimited}=${quotaMax},${keys.exhausted}=1`;
      const args = [join(import.meta.dirname, "../peers/fastify-postgres.js"), "--animals", animalsFile, "--keys", plans];
      return { server: await startServer({ command: process.execPath, args, env }), keys };
    },
  };
}
