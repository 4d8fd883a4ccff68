/**
 * The bench of many instances on PostgreSQL. It starts a PostgreSQL of its own, prints Markdown, and removes everything.
 *
 *     npm --prefix test/bench run postgres -- --help
 *
 * The load stays on this machine and is bounded in time. A wrong result ends the run with an error.
 */
import { loadavg } from "node:os";
import { skipFaults, startPostgres } from "../postgres/postgres-server.js";
import { describeMachine } from "./machine.js";
import { choose, exitWithUsage, findBuild, inFolder, ownBuild, readCount, readFlags } from "./options.js";
import { Instances } from "./postgres/instances.js";
import { jobs, measureRates } from "./postgres/rates.js";
import { measureLatencies, measureStops } from "./postgres/waits.js";
import { measureWholeRequests } from "./postgres/whole-requests.js";

/** As an operator would set it for a small machine. */
const settings = { shared_buffers: "256MB", max_wal_size: "2GB" };
const instanceCount = 3;
const parts = ["rates", "latencies", "stops", "http"].map((id) => ({ id }));

const help = `npm --prefix test/bench run postgres -- [flags]

  --only rates,http    parts: ${parts.map(({ id }) => id).join(", ")}
  --jobs create        of the rates, those whose name contains this
  --rounds 7           rounds of each part
  --ms 500             length of a round in the first two parts
  --launches 2         launches of each server in the part http
  --quick              one short round, to see that everything works
  --dist DIR           the build of the service (default dist)`;

const { values } = readFlags(help, {
  only: { type: "string" },
  jobs: { type: "string", default: "" },
  rounds: { type: "string", default: "7" },
  ms: { type: "string", default: "500" },
  launches: { type: "string", default: "2" },
  quick: { type: "boolean", default: false },
  dist: { type: "string", default: ownBuild },
});
const rounds = values.quick ? 1 : readCount("rounds", values.rounds);
const ms = values.quick ? 200 : readCount("ms", values.ms);
const launches = values.quick ? 1 : readCount("launches", values.launches);
const dist = findBuild(values.dist);
const isChosen = new Set(choose("only", values.only, parts).map(({ id }) => id));
const chosenJobs = jobs.filter(({ operation }) => operation.includes(values.jobs));
if (skipFaults !== false) exitWithUsage(skipFaults);

const progress = (text) => console.error(`… ${text}`);

await inFolder(async (folder) => {
  const postgres = await startPostgres({ settings });
  try {
    const before = `PostgreSQL ${postgres.release}; load average before the start: ${loadavg()[0].toFixed(1)}`;
    console.log([...describeMachine(folder), before].map((line) => `- ${line}`).join("\n"));
    await measureInstances(postgres);
    const httpSettings = { dist, folder, launches, rounds: Math.min(rounds, 3), seconds: 1, warmUpSeconds: 1, progress };
    if (isChosen.has("http")) print(await measureWholeRequests(postgres, httpSettings));
  } finally {
    await postgres.stop();
  }
});

async function measureInstances(postgres) {
  const instances = await Instances.start(postgres, dist, instanceCount);
  try {
    const common = { rounds, ms, progress };
    if (isChosen.has("rates")) print(await measureRates(instances, common, chosenJobs));
    if (isChosen.has("latencies")) print(await measureLatencies(instances, common));
    if (isChosen.has("stops")) print(await measureStops(instances, common));
  } finally {
    instances.stop();
  }
}

function print(text) {
  console.log(`\n${text}`);
}
