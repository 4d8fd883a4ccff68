/**
 * Compares the processor time of two builds of the service, on machines where requests per second vary too much. Needs
 * no npm install.
 *
 *     node test/bench/own-time.js DIST_A DIST_B --only W1
 *
 * Both builds run on the same Node. What Node itself takes for a request is the measure: a machine that is slow for a
 * while is slow for both parts, so their ratio keeps still.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { prepareService } from "./contenders.js";
import { chooseWorkloads, exitWithUsage, findBuild, inFolder, readCount, readFlags } from "./options.js";
import { interleaveOnce, median } from "./rounds.js";
import { animalCount, animalLines } from "./workloads.js";

const help = `node test/bench/own-time.js DIST_A DIST_B [flags]

  --only W1,W4     workloads (default W1,W1R,W2R,W3,W4,W5)
  --launches 5     how often each build is launched
  --seconds 4      length of the load`;

const { values, positionals } = readFlags(help, {
  only: { type: "string", default: "W1,W1R,W2R,W3,W4,W5" },
  launches: { type: "string", default: "5" },
  seconds: { type: "string", default: "4" },
});
if (positionals.length !== 2) exitWithUsage("Two builds are needed; see --help");
const builds = positionals.map(findBuild);
const launchCount = readCount("launches", values.launches);
const seconds = readCount("seconds", values.seconds);

await inFolder(async (folder) => {
  const animalsFile = join(folder, "animals.jsonl");
  writeFileSync(animalsFile, animalLines(animalCount));
  for (const workload of chooseWorkloads(values.only)) {
    console.log(`\n${workload.id} ${workload.title}: time for each second of Node's`);
    const [a, b] = [[], []];
    for (let launch = 0; launch < launchCount; launch += 1) {
      for (const [build, times] of [[0, a], [1, b]]) {
        const own = join(folder, `${workload.id}-${launch}-${build}`);
        times.push(timesOf(await takeProfile(builds[build], workload, { animalsFile, own })));
      }
    }
    const [wholeA, wholeB] = [show("A", a), show("B", b)];
    console.log(`  A/B ${(wholeA / wholeB).toFixed(3)}`);
  }
});

/** What Node's sampling profiler writes of a launch under the workload. */
async function takeProfile(dist, workload, { animalsFile, own }) {
  const profiles = join(own, "profiles");
  mkdirSync(profiles, { recursive: true });
  const service = await prepareService({
    id: "service",
    label: "the service",
    program: join(dist, "server.js"),
    animalsFile,
    template: join(own, "template"),
    nodeFlags: ["--cpu-prof", `--cpu-prof-dir=${profiles}`],
  });
  await interleaveOnce([service], workload, { rounds: 1, seconds, warmUpSeconds: 1, folder: own });
  const [name] = readdirSync(profiles);
  return JSON.parse(readFileSync(join(profiles, name)));
}

function timesOf({ nodes, samples, timeDeltas }) {
  const kinds = new Map(nodes.map(({ id, callFrame }) => [id, kindOf(callFrame)]));
  const us = { none: 0, garbage: 0, service: 0, node: 0 };
  for (const [index, id] of samples.entries()) us[kinds.get(id)] += timeDeltas[index];
  return { service: us.service / us.node, garbage: us.garbage / us.node };
}

/** Waiting, and the writing of the file, which depends on how many creates a group has, count for nobody. */
function kindOf({ functionName, url }) {
  if (["(idle)", "(program)", "fdatasync", "writeBuffer"].includes(functionName)) return "none";
  if (functionName === "(garbage collector)") return "garbage";
  return url.startsWith("file:") ? "service" : "node";
}

function show(id, times) {
  const whole = times.map(({ service, garbage }) => 1 + service + garbage);
  const [service, garbage] = ["service", "garbage"].map((name) => median(times.map((time) => time[name])).toFixed(3));
  const spread = `${Math.min(...whole).toFixed(2)} to ${Math.max(...whole).toFixed(2)}`;
  console.log(`  ${id} the service ${service}, collecting garbage ${garbage}; with Node's own ${median(whole).toFixed(3)} (${spread})`);
  return median(whole);
}
