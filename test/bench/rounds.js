/**
 * Interleaved rounds: everybody is started, checked and warmed up, then each gets a short round in turn, again and
 * again, so that whatever else the machine does meets all alike. Then all of it anew: one launch of a program differs
 * from the next by up to a tenth. Ratios are taken within a round, then the median of them all.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { applyLoad, sendOnce } from "./load.js";
import { animalCount } from "./workloads.js";

/** As many requests as use up the limits of W5 and W6. */
const primingCountMax = 70;

/**
 * @typedef {import("./contenders.js").Contender} Contender
 * @typedef {import("./contenders.js").Launched} Launched
 * @typedef {import("./workloads.js").Workload} Workload
 * @typedef {import("./load.js").Round} Round
 * @typedef {{ rounds: number, seconds: number, warmUpSeconds: number, folder: string }} Settings
 */

/**
 * Starts a contender and checks its answer.
 *
 * @param {Contender} contender
 * @param {Workload} workload
 * @param {string} parent
 */
export async function launchChecked(contender, workload, parent) {
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, `${contender.id}-`));
  const launched = await contender.launch(folder);
  const requests = workload.requests(launched.keys);
  const answer = await primedAnswer(launched, workload, requests[0] ?? "");
  const fault = faultOf(answer, workload) ?? contender.fault?.(answer);
  if (fault !== undefined) {
    await launched.server.stop();
    throw new Error(`${contender.label}, ${workload.id}: ${fault}`);
  }
  return { ...launched, contender, folder, requests, answer };
}

/** @param {Launched} launched */
async function primedAnswer(launched, workload, request) {
  let answer = await sendOnce(launched.server.port, request);
  for (let count = 1; workload.statuses.includes(429) && answer.status !== 429 && count < primingCountMax; count += 1) {
    answer = await sendOnce(launched.server.port, request);
  }
  return answer;
}

function faultOf(answer, workload) {
  if (!workload.statuses.includes(answer.status)) return `answers ${answer.status}: ${answer.body.slice(0, 200)}`;
  const isCounted = !workload.statuses.includes(401);
  if (isCounted && !Object.keys(answer.fields).some((name) => name.includes("ratelimit-remaining"))) {
    return "no rate limit";
  }
  return workload.fault(answer);
}

/**
 * @param {readonly Contender[]} contenders
 * @param {Workload} workload
 * @param {Settings & { launches: number }} settings
 * @returns {Promise<Map<string, Round[]>>} the rounds of each contender, by its id
 */
export async function interleave(contenders, workload, settings) {
  const results = new Map(contenders.map(({ id }) => [id, /** @type {Round[]} */ ([])]));
  for (let launch = 0; launch < settings.launches; launch += 1) {
    for (const [id, rounds] of await interleaveOnce(contenders, workload, settings)) results.get(id).push(...rounds);
  }
  return results;
}

/**
 * As `interleave`, of one launch.
 *
 * @param {readonly Contender[]} contenders
 * @param {Workload} workload
 * @param {Settings} settings
 * @returns {Promise<Map<string, Round[]>>}
 */
export async function interleaveOnce(contenders, workload, settings) {
  const launches = [];
  try {
    for (const contender of contenders) launches.push(await launchChecked(contender, workload, settings.folder));
    const leastKept = launches.map(() => animalCount + 1); // The one is the check's.
    const results = new Map(contenders.map(({ id }) => [id, /** @type {Round[]} */ ([])]));
    for (let round = -1; round < settings.rounds; round += 1) {
      // There and back again: nobody is always the first after somebody.
      const order = round % 2 === 0 ? [...launches.keys()] : [...launches.keys()].reverse();
      for (const index of order) {
        const seconds = round < 0 ? settings.warmUpSeconds : settings.seconds;
        const measured = await oneRound(launches[index], workload, seconds);
        leastKept[index] += measured.requests + 1;
        if (round >= 0) results.get(launches[index].contender.id)?.push(measured);
      }
    }
    await checkKept(launches, workload, leastKept);
    return results;
  } finally {
    await Promise.all(launches.map(({ server }) => server.stop()));
    for (const { folder } of launches) rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws {Error} when an answer was not as it has to be */
async function oneRound({ server, requests, folder, contender }, workload, seconds) {
  const { connections } = workload;
  const round = await applyLoad({ port: server.port, requests, connections, seconds, folder });
  const isRefusal = workload.statuses.every((status) => status > 399);
  const wrongCount = round.broken + (isRefusal ? round.requests - round.refused : round.refused);
  if (wrongCount > 0 || round.requests === 0) {
    throw new Error(`${contender.label}, ${workload.id}: ${wrongCount} of ${round.requests} answers were wrong`);
  }
  const after = await sendOnce(server.port, requests[0] ?? "");
  const fault = faultOf(after, workload);
  if (fault !== undefined) throw new Error(`${contender.label}, ${workload.id}, after a round: ${fault}`);
  return round;
}

/** What was acknowledged is on disk. The requests under way when a round ended may be there as well. */
async function checkKept(launches, workload, leastKept) {
  if (workload.writes !== true) return;
  for (const [index, { contender, server, keptCount }] of launches.entries()) {
    if (keptCount === undefined) continue;
    await server.stop();
    if (keptCount() < leastKept[index]) {
      throw new Error(`${contender.label}, ${workload.id}: kept ${keptCount()} of ${leastKept[index]} acknowledged`);
    }
  }
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** @param {Round} round */
export function rate(round) {
  return round.requests / round.seconds;
}
