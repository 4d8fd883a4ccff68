/**
 * Profiles of the service under load, from Node's sampling profiler.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { prepareService } from "./contenders.js";
import { interleaveOnce } from "./rounds.js";
import { animalCount, animalLines } from "./workloads.js";

/**
 * @param {string} dist a build of the service
 * @param {import("./workloads.js").Workload} workload
 * @param {{ seconds: number, folder: string, profiles: string }} settings profiles: a folder for the profile
 */
export async function takeProfile(dist, workload, { seconds, folder, profiles }) {
  mkdirSync(profiles, { recursive: true });
  const earlier = readdirSync(profiles);
  const animalsFile = join(folder, "animals.jsonl");
  writeFileSync(animalsFile, animalLines(animalCount));
  const service = await prepareService({
    id: "service",
    label: "the service",
    program: join(dist, "server.js"),
    animalsFile,
    template: join(folder, `template-${basename(profiles)}`),
    nodeFlags: ["--cpu-prof", `--cpu-prof-dir=${profiles}`],
  });
  const settings = { rounds: 1, seconds, warmUpSeconds: 1, folder };
  const [round] = (await interleaveOnce([service], workload, settings)).get("service");
  const name = readdirSync(profiles).find((one) => !earlier.includes(one));
  return { round, profile: JSON.parse(readFileSync(join(profiles, name))) };
}

/**
 * @param {(frame: { functionName: string, url: string, lineNumber: number }) => string} nameOf
 * @returns {Map<string, number>} the time of each name, in microseconds
 */
export function selfTimes({ nodes, samples, timeDeltas }, nameOf) {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map();
  for (const [index, id] of samples.entries()) {
    const name = names.get(id);
    times.set(name, (times.get(name) ?? 0) + timeDeltas[index]);
  }
  return times;
}
