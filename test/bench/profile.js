/**
 * Prints the functions that use the most time of their own under a workload, from Node's sampling profiler. Needs no npm
 * install.
 *
 *     node test/bench/profile.js DIST --only W1 --seconds 5
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { prepareService } from "./contenders.js";
import { chooseWorkloads, inFolder, readCount, readFlags, exitWithUsage } from "./options.js";
import { interleaveOnce, rate } from "./rounds.js";
import { animalCount, animalLines } from "./workloads.js";

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
const seconds = readCount("seconds", values.seconds);
const top = readCount("top", values.top);

await inFolder(async (folder) => {
  const animalsFile = join(folder, "animals.jsonl");
  writeFileSync(animalsFile, animalLines(animalCount));
  for (const workload of chooseWorkloads(values.only)) {
    const profiles = resolve(values.keep ?? folder, `profile-${workload.id}`);
    mkdirSync(profiles, { recursive: true });
    const service = await prepareService({
      id: "service",
      label: "the service",
      program: resolve(positionals[0], "server.js"),
      animalsFile,
      template: join(folder, `template-${workload.id}`),
      nodeFlags: ["--cpu-prof", `--cpu-prof-dir=${profiles}`],
    });
    const settings = { rounds: 1, seconds, warmUpSeconds: 1, folder };
    const [round] = (await interleaveOnce([service], workload, settings)).get("service");
    console.log(`\n${workload.id} ${workload.title}: ${rate(round).toFixed(0)}/s, with the profiler on`);
    for (const name of readdirSync(profiles)) console.log(summary(JSON.parse(readFileSync(join(profiles, name)))));
  }
});

/** @returns {string} one line for each function: share of the time that was not idle, name, place */
function summary({ nodes, samples, timeDeltas }) {
  const functions = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const selfTimes = new Map();
  for (const [index, id] of samples.entries()) {
    const name = functions.get(id);
    selfTimes.set(name, (selfTimes.get(name) ?? 0) + timeDeltas[index]);
  }
  selfTimes.delete("(idle)");
  const total = [...selfTimes.values()].reduce((sum, time) => sum + time, 0);
  return [...selfTimes]
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
