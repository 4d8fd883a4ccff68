/**
 * Compares two builds of the service: is B faster than A? Needs no npm install.
 *
 *     node test/bench/compare.js DIST_A DIST_B --only W1
 *
 * Two launches of the same program differ by more than most changes do, because of memory layout and compilation. So
 * both builds are launched several times. Within a launch, rounds are interleaved.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { floorOf, prepareService } from "./contenders.js";
import { describeMachine } from "./machine.js";
import { chooseWorkloads, exitWithUsage, findBuild, inFolder, readCount, readFlags } from "./options.js";
import { interleaveOnce, launchChecked, median, processorRate, rate } from "./rounds.js";
import { animalCount, animalLines } from "./workloads.js";

const help = `node test/bench/compare.js DIST_A DIST_B [flags]

DIST: a folder with server.js. The same build twice shows the noise.

  --only W1,W4     workloads (default W1,W1R,W2R,W3,W4,W5)
  --launches 3     how often both are launched
  --rounds 5       rounds of a launch
  --seconds 1      length of a round
  --warm-up 2      seconds before the first round of a launch
  --floor          measures the floor as well
  --node-flags …   flags of Node for both, comma separated`;

const { values, positionals } = readFlags(help, {
  only: { type: "string", default: "W1,W1R,W2R,W3,W4,W5" },
  launches: { type: "string", default: "3" },
  rounds: { type: "string", default: "5" },
  seconds: { type: "string", default: "1" },
  "warm-up": { type: "string", default: "2" },
  floor: { type: "boolean", default: false },
  "node-flags": { type: "string", default: "" },
});
if (positionals.length !== 2) exitWithUsage("Two builds are needed; see --help");
const dists = positionals.map(findBuild);
const settings = {
  rounds: readCount("rounds", values.rounds),
  seconds: readCount("seconds", values.seconds),
  warmUpSeconds: readCount("warm-up", values["warm-up"]),
};
const launchCount = readCount("launches", values.launches);

await inFolder(async (folder) => {
  const chosen = chooseWorkloads(values.only);
  console.log(describeMachine(folder).join("; "));
  const animalsFile = join(folder, "animals.jsonl");
  writeFileSync(animalsFile, animalLines(animalCount));
  const nodeFlags = values["node-flags"].split(",").filter((flag) => flag !== "");
  const builds = [];
  for (const [index, dist] of dists.entries()) {
    const id = index === 0 ? "A" : "B";
    const template = join(folder, `template-${id}`);
    builds.push(await prepareService({ id, label: id, program: join(dist, "server.js"), animalsFile, template, nodeFlags }));
  }
  for (const workload of chosen) await compare(builds, workload, folder);
});

async function compare(builds, workload, folder) {
  const contenders = values.floor ? [...builds, await floorFor(builds[0], workload, folder)] : builds;
  const all = new Map(contenders.map(({ id }) => [id, []]));
  console.log(`\n${workload.id} ${workload.title}`);
  for (let launch = 0; launch < launchCount; launch += 1) {
    const order = launch % 2 === 0 ? contenders : [...contenders].reverse();
    const results = await interleaveOnce(order, workload, { ...settings, folder });
    for (const [id, rounds] of results) all.get(id).push(...rounds);
  }
  for (const [name, value] of [["requests", rate], ["requests for the same processor time", processorRate]]) {
    const ratios = (one, other) => all.get(one).map((round, index) => value(round) / value(all.get(other)[index]));
    const toFloor = values.floor ? `; to the floor A ${spread(ratios("A", "floor"))}, B ${spread(ratios("B", "floor"))}` : "";
    console.log(`  ${name}: B/A ${spread(ratios("B", "A"))}${toFloor}`);
  }
  for (const [id, rounds] of all) {
    const [perSecond, us, p99Ms] = [rate, ({ processorUs }) => processorUs, ({ p99Ms }) => p99Ms].map((value) => median(rounds.map(value)));
    console.log(`  ${id}: ${perSecond.toFixed(0)}/s, ${us.toFixed(2)} µs of processor time, p99 ${p99Ms.toFixed(2)} ms`);
  }
}

/** @param {readonly number[]} ratios */
function spread(ratios) {
  return `${median(ratios).toFixed(3)} (${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)})`;
}

async function floorFor(build, workload, folder) {
  const { server, response } = await launchChecked(build, workload, folder);
  await server.stop();
  return floorOf(response);
}
