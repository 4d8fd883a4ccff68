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
import { interleaveOnce, launchChecked, median, rate } from "./rounds.js";
import { animalCount, animalLines } from "./workloads.js";

const help = `node test/bench/compare.js DIST_A DIST_B [flags]

DIST: a folder with server.js. The same build twice shows the noise.

  --only W1,W4     workloads (default W1,W2,W3,W4,W5)
  --launches 3     how often both are launched
  --rounds 5       rounds of a launch
  --seconds 1      length of a round
  --warm-up 1      seconds before the first round of a launch
  --floor          measures the floor as well
  --node-flags …   flags of Node for both, comma separated`;

const { values, positionals } = readFlags(help, {
  only: { type: "string", default: "W1,W2,W3,W4,W5" },
  launches: { type: "string", default: "3" },
  rounds: { type: "string", default: "5" },
  seconds: { type: "string", default: "1" },
  "warm-up": { type: "string", default: "1" },
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
  const ratios = [];
  const rates = new Map(contenders.map(({ id }) => [id, []]));
  console.log(`\n${workload.id} ${workload.title}`);
  for (let launch = 0; launch < launchCount; launch += 1) {
    const order = launch % 2 === 0 ? contenders : [...contenders].reverse();
    const results = await interleaveOnce(order, workload, { ...settings, folder });
    for (const [id, rounds] of results) rates.get(id).push(...rounds.map(rate));
    const ofLaunch = results.get("A").map((round, index) => rate(results.get("B")[index]) / rate(round));
    ratios.push(...ofLaunch);
    console.log(`  launch ${launch + 1}: B/A ${ofLaunch.map((ratio) => ratio.toFixed(3)).join(" ")}`);
  }
  const spread = `${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}`;
  const perSecond = [...rates].map(([id, all]) => `${id} ${median(all).toFixed(0)}/s`).join(", ");
  console.log(`  B/A median ${median(ratios).toFixed(3)} (${spread}); ${perSecond}`);
  if (!values.floor) return;
  const toFloor = (id) => median(rates.get(id).map((value, index) => value / rates.get("floor")[index]));
  console.log(`  to the floor: A ${toFloor("A").toFixed(3)}, B ${toFloor("B").toFixed(3)}`);
}

async function floorFor(build, workload, folder) {
  const { server, response } = await launchChecked(build, workload, folder);
  await server.stop();
  return floorOf(response);
}
