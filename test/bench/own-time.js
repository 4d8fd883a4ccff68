/**
 * Compares the processor time of two builds of the service, on machines where requests per second vary too much. Needs
 * no npm install.
 *
 *     node test/bench/own-time.js DIST_A DIST_B --only W1
 *
 * Both builds run on the same Node. What Node itself takes for a request is the measure: a machine that is slow for a
 * while is slow for both parts, so their ratio keeps still.
 */
import { join } from "node:path";
import { chooseWorkloads, exitWithUsage, findBuild, inFolder, readCount, readFlags } from "./options.js";
import { selfTimes, takeProfile } from "./profiles.js";
import { median } from "./rounds.js";

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
  for (const workload of chooseWorkloads(values.only)) {
    console.log(`\n${workload.id} ${workload.title}: time for each second of Node's`);
    const [a, b] = [[], []];
    for (let launch = 0; launch < launchCount; launch += 1) {
      for (const [build, times] of [[0, a], [1, b]]) {
        const profiles = join(folder, `${workload.id}-${launch}-${build}`);
        const { profile } = await takeProfile(builds[build], workload, { seconds, folder, profiles });
        times.push(timesOf(profile));
      }
    }
    const [wholeA, wholeB] = [show("A", a), show("B", b)];
    console.log(`  A/B ${(wholeA / wholeB).toFixed(3)}`);
  }
});

/** Waiting, and the writing of the file, which depends on how many creates a group has, count for nobody. */
function timesOf(profile) {
  const times = selfTimes(profile, ({ functionName, url }) => {
    if (["(idle)", "(program)", "fdatasync", "writeBuffer"].includes(functionName)) return "none";
    if (functionName === "(garbage collector)") return "garbage";
    return url.startsWith("file:") ? "service" : "node";
  });
  return { service: times.get("service") / times.get("node"), garbage: times.get("garbage") / times.get("node") };
}

function show(id, times) {
  const whole = times.map(({ service, garbage }) => 1 + service + garbage);
  const [service, garbage] = ["service", "garbage"].map((name) => median(times.map((time) => time[name])).toFixed(3));
  const spread = `${Math.min(...whole).toFixed(2)} to ${Math.max(...whole).toFixed(2)}`;
  console.log(`  ${id} the service ${service}, collecting garbage ${garbage}; with Node's own ${median(whole).toFixed(3)} (${spread})`);
  return median(whole);
}
