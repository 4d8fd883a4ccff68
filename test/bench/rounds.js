/**
 * Interleaved rounds. All contenders are started, checked and warmed up. Then each runs a short round in turn, several
 * times, so that other work of the machine affects all of them. All of it is repeated with new processes, because two
 * launches of the same program differ by up to a tenth. The result is the median of the ratios within the rounds.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { applyLoad, sendOnce } from "./load.js";
import { animalCount } from "./workloads.js";

/** Enough requests to use up the limits of W5 and W6. */
const primingCountMax = 70;
/** So many that each animal is changed several times in the cycle, so that the next cycle refuses no more and no fewer. */
const drawnCount = 60_000;

/**
 * @typedef {import("./load.js").Round & { processorUs: number, served: number }} Round processorUs: of the server,
 *   for each request; served: requests without an error, with that of the check
 */

/** Starts a contender and checks its response. */
export async function launchChecked(contender, workload, parent) {
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, `${contender.id}-`));
  const launched = await contender.launch(folder);
  const requests = workload.requests(launched.keys);
  const response = await primedResponse(launched, workload, requests[0] ?? "");
  const fault = faultOf(response, workload, contender);
  if (fault !== undefined) {
    await launched.server.stop();
    throw new Error(`${contender.label}, ${workload.id}: ${fault}`);
  }
  return { ...launched, contender, folder, requests, response };
}

async function primedResponse(launched, workload, request) {
  let response = await sendOnce(launched.server.port, request);
  for (let count = 1; workload.statuses.includes(429) && response.status !== 429 && count < primingCountMax; count += 1) {
    response = await sendOnce(launched.server.port, request);
  }
  return response;
}

function faultOf(response, workload, contender) {
  if (!workload.statuses.includes(response.status)) return `returns ${response.status}: ${response.body.slice(0, 200)}`;
  const isCounted = !workload.statuses.includes(401);
  if (isCounted && !Object.keys(response.fields).some((name) => name.includes("ratelimit-remaining"))) {
    return "no rate limit";
  }
  return (contender.fault ?? workload.fault)(response);
}

/** @returns {Promise<Map<string, Round[]>>} the rounds of each contender, by its id */
export async function interleave(contenders, workload, settings) {
  const results = new Map(contenders.map(({ id }) => [id, /** @type {Round[]} */ ([])]));
  for (let launch = 0; launch < settings.launches; launch += 1) {
    for (const [id, rounds] of await interleaveOnce(contenders, workload, settings)) results.get(id).push(...rounds);
  }
  return results;
}

/** As `interleave`, of one launch. */
export async function interleaveOnce(contenders, workload, settings) {
  const launches = [];
  try {
    for (const contender of contenders) launches.push(await launchChecked(contender, workload, settings.folder));
    const leastKept = launches.map(({ response }) => animalCount + Number(response.status < 400)); // One from the check.
    const results = new Map(contenders.map(({ id }) => [id, /** @type {Round[]} */ ([])]));
    for (let round = -1; round < settings.rounds; round += 1) {
      // Forwards and backwards, so that no contender always runs after the same one.
      const order = round % 2 === 0 ? [...launches.keys()] : [...launches.keys()].reverse();
      for (const index of order) {
        const seconds = round < 0 ? settings.warmUpSeconds : settings.seconds;
        const measured = await oneRound(launches[index], workload, seconds);
        leastKept[index] += measured.served;
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

/** @throws {Error} if a response was wrong */
async function oneRound({ server, requests, folder, contender }, workload, seconds) {
  const { connections } = workload;
  const processorUsBefore = server.processorUs();
  const sent = workload.isDrawn === true ? drawn(requests) : requests;
  const round = await applyLoad({ port: server.port, requests: sent, connections, seconds, folder });
  const processorUs = (server.processorUs() - processorUsBefore) / round.requests;
  const [errorsMin, errorsMax] = errorBounds(workload, contender);
  const { requests: count, errors, broken } = round;
  if (broken > 0 || count === 0 || errors < errorsMin * count || errors > errorsMax * count) {
    throw new Error(`${contender.label}, ${workload.id}: of ${count} responses ${errors} were errors, and ${broken} were broken`);
  }
  const after = await sendOnce(server.port, requests[0] ?? "");
  const fault = faultOf(after, workload, contender);
  if (fault !== undefined) throw new Error(`${contender.label}, ${workload.id}, after a round: ${fault}`);
  return { ...round, processorUs, served: count - errors + Number(after.status < 400) };
}

function drawn(requests) {
  return Array.from({ length: drawnCount }, () => requests[Math.floor(Math.random() * requests.length)]);
}

/** The least and the greatest part of the responses that may be errors. A floor sends one response only. */
function errorBounds({ statuses }, contender) {
  const [least, most] = [Math.min(...statuses), Math.max(...statuses)].map((status) => Number(status > 399));
  return least === most || contender.fault !== undefined ? [least, least] : [0.4, 0.6];
}

/** What was acknowledged must be on disk. Requests under way at the end of a round may be there too. */
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

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

export function rate(round) {
  return round.requests / round.seconds;
}

/** Requests for each second of the server's processor time: other work of the machine hardly affects it. */
export function processorRate({ processorUs }) {
  return 1e6 / processorUs;
}
