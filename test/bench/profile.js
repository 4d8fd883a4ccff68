/**
 * Prints the functions that use the most time of their own under a workload, from Node's sampling profiler. Needs no npm
 * install.
 *
 *     node test/bench/profile.js DIST --only W1 --seconds 5
 */
import { basename, resolve } from "node:path";
import { chooseWorkloads, exitWithUsage, findBuild, inFolder, readCount, readFlags } from "./options.js";
import { selfTimes, takeProfile } from "./profiles.js";
import { rate } from "./rounds.js";

const help = `node test/bench/profile.js DIST [flags]

  --only W1       workloads, each profiled by itself (default W1)
  --seconds 5     length of the load
  --top 30        how many functions are printed
  --keep DIR      keeps the profiles (*.cpuprofile, for a browser's developer tools) in DIR`;

const { values, positionals } = readFlags(help, {
  only: { type: "string", default: "W1" },
  seconds: { type: "string", default: "5" },
  top: { type: "string", default: "30" },
  keep: { type: "string" },
});
if (positionals.length !== 1) exitWithUsage("One build is needed; see --help");
const build = findBuild(positionals[0]);
const seconds = readCount("seconds", values.seconds);
const top = readCount("top", values.top);

await inFolder(async (folder) => {
  for (const workload of chooseWorkloads(values.only)) {
    const profiles = resolve(values.keep ?? folder, `profile-${workload.id}`);
    const { round, profile } = await takeProfile(build, workload, { seconds, folder, profiles });
    console.log(`\n${workload.id} ${workload.title}: ${rate(round).toFixed(0)}/s, with the profiler on`);
    console.log(summary(profile));
  }
});

/** @returns {string} one line for each function: share of the time that was not idle, name, place */
function summary(profile) {
  const times = selfTimes(profile, nameOf);
  times.delete("(idle)");
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  return [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, top)
    .map(([name, time]) => `${((time / total) * 100).toFixed(1).padStart(6)} %  ${name}`)
    .join("\n");
}

function nameOf({ functionName, url, lineNumber }) {
  const name = functionName === "" ? "(anonymous)" : functionName;
  if (url === "") return name;
  return `${name}  ${url.startsWith("node:") ? url : basename(url)}:${lineNumber + 1}`;
}
