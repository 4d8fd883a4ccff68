/**
 * One instance of the service without its HTTP: the engine as built, on a pool of ten connections. The bench starts one
 * or several as processes of their own and tells them what to do.
 *
 *     fork instance.js DIST URL
 *
 * It ends when its parent does.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { makeSchema } from "./make-schema.js";
import { operationsOf } from "./operations.js";

const poolSize = 10;

const [dist = "", url = ""] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(join(dist, file)).href);
const { openPostgres } = await load("postgres/postgres-engine.js");
const { systemClock: clock } = await load("base/clock.js");

const pool = new pg.Pool({ connectionString: url, max: poolSize, min: poolSize, idleTimeoutMillis: 0 });
let statementCount = 0;
pool.on("acquire", () => (statementCount += 1));
await makeSchema(dist, pool);
const engine = await openPostgres({ pool, clock, report: (line) => console.error(line), signal: undefined });
const operations = operationsOf(engine, pool);

process.on("disconnect", () => process.exit());
process.on("message", async ({ id, task }) => {
  try {
    process.send({ id, result: await measured(task) });
  } catch (error) {
    process.send({ id, fault: String(error?.stack ?? error) });
  }
});
process.send("ready");

/**
 * @param {{ operation: string, ms: number, callers?: number, perSecond?: number }} task callers: each with one request
 *   under way; or perSecond: so many requests, however long they take
 */
async function measured({ operation, ms, callers, perSecond }) {
  const run = operations[operation];
  const latenciesMs = [];
  let lastMs = performance.now();
  let longestGapMs = 0;
  const one = async () => {
    const startMs = performance.now();
    await run();
    const endMs = performance.now();
    latenciesMs.push(endMs - startMs);
    longestGapMs = Math.max(longestGapMs, endMs - lastMs);
    lastMs = endMs;
  };
  const statementsBefore = statementCount;
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  await (perSecond === undefined ? closedLoop(one, callers, startMs + ms) : openLoop(one, perSecond, startMs, ms));
  const { user, system } = process.cpuUsage(cpuBefore);
  const seconds = (performance.now() - startMs) / 1_000;
  const sorted = Float64Array.from(latenciesMs).sort();
  const quantile = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return {
    count: sorted.length,
    seconds,
    statements: statementCount - statementsBefore,
    cpuMs: (user + system) / 1_000,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    longestGapMs,
  };
}

async function closedLoop(one, callers, endMs) {
  const caller = async () => {
    while (performance.now() < endMs) await one();
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

/** Every millisecond it starts what is due. */
async function openLoop(one, perSecond, startMs, ms) {
  const underWay = [];
  await new Promise((resolve) => {
    const timer = setInterval(() => {
      const passedMs = performance.now() - startMs;
      while (underWay.length < (Math.min(passedMs, ms) * perSecond) / 1_000) underWay.push(one());
      if (passedMs < ms) return;
      clearInterval(timer);
      resolve();
    }, 1);
  });
  await Promise.all(underWay);
}
