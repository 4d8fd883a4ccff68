/** How many requests a second, as ratios to what a program does that sends a statement for each request. */
import { formatRatio, table } from "../report.js";
import { median } from "../rounds.js";

/**
 * base: what it is compared with, on the same pools with the same callers, right before it.
 *
 * @type {readonly { operation: string, base: string, instances: number, callers: number, goal?: number }[]}
 */
export const jobs = [
  { operation: "limits, 1 key", base: "SELECT 1", instances: 1, callers: 64, goal: 4 },
  { operation: "limits, 1,000 keys", base: "SELECT 1", instances: 1, callers: 64, goal: 1.3 },
  { operation: "limits, 1 key", base: "SELECT 1", instances: 3, callers: 64 },
  { operation: "limits, 1,000 keys", base: "SELECT 1", instances: 3, callers: 64 },
  { operation: "create", base: "single INSERT", instances: 1, callers: 64, goal: 5 },
  { operation: "create", base: "single INSERT", instances: 1, callers: 256, goal: 12 },
  { operation: "create", base: "single INSERT", instances: 3, callers: 64 },
  { operation: "create with hash", base: "single INSERT", instances: 1, callers: 64 },
  { operation: "create with hash", base: "single INSERT", instances: 1, callers: 256 },
  { operation: "get", base: "SELECT 1", instances: 1, callers: 64, goal: 2 },
  { operation: "list of 20", base: "SELECT 1", instances: 1, callers: 64, goal: 0.35 },
];

/** Before a round counts. */
const warmUpRounds = 1;

/**
 * @param {readonly import("./instances.js").Instances[]} builds one, or two to compare
 * @param {readonly object[]} chosen of `jobs`
 * @returns {Promise<string>} Markdown
 */
export async function measureRates(builds, settings, chosen) {
  const results = chosen.map((job) => ({ job, bases: [], rounds: builds.map(() => []) }));
  // Creates come last, because what PostgreSQL cleans up after them would take time from the others.
  for (const base of ["SELECT 1", "single INSERT"]) {
    const group = results.filter(({ job }) => job.base === base);
    for (let round = -warmUpRounds; round < settings.rounds && group.length > 0; round += 1) {
      settings.progress(`rates, beside ${base}, round ${round + warmUpRounds + 1} of ${settings.rounds + warmUpRounds}`);
      // Forwards and backwards, so that nothing always runs after the same.
      const order = round % 2 === 0 ? group : [...group].reverse();
      for (const result of order) await oneRound(builds, result, round, settings.ms);
    }
  }
  const compared = builds.length > 1 ? ["other / this: requests/s", "processor time"] : [];
  const head = ["", "instances x callers", "of", "goal", "ratio", "from - to", "requests/s", ...compared];
  return [
    table(head, results.map(ratioRow)),
    table(["for each request", "instances x callers", "statements", "WAL bytes", "µs of PostgreSQL", "µs of Node"], [
      ...["SELECT 1", "single INSERT"].flatMap((name) => baseRow(results, name)),
      ...results.map(({ job, rounds: [first] }) => costRow(job, first)),
    ]),
  ].join("\n\n");
}

async function oneRound(builds, { job, bases, rounds }, round, ms) {
  const { operation, base, instances, callers } = job;
  const order = [...builds.keys()];
  if (round % 4 > 1) order.reverse();
  const { all } = await builds[0].run({ operation: base, callers, ms }, instances);
  if (round >= 0) bases.push(all);
  for (const index of order) {
    const measured = (await builds[index].run({ operation, callers, ms }, instances)).all;
    if (round >= 0) rounds[index].push(measured);
  }
}

function ratioRow({ job, bases, rounds: [first, second] }) {
  const { operation, base, instances, callers, goal } = job;
  const ratios = first.map(({ perSecond }, index) => perSecond / bases[index].perSecond);
  const cells = [
    operation,
    `${instances} x ${callers}`,
    base,
    goal === undefined ? "" : String(goal),
    `**${formatRatio(median(ratios))}**`,
    `${formatRatio(Math.min(...ratios))} - ${formatRatio(Math.max(...ratios))}`,
    whole(median(first.map(({ perSecond }) => perSecond))),
  ];
  if (second === undefined) return cells;
  const toFirst = (value) => {
    const quotients = second.map((round, index) => value(round) / value(first[index]));
    return `${median(quotients).toFixed(3)} (${formatRatio(Math.min(...quotients))} - ${formatRatio(Math.max(...quotients))})`;
  };
  return [...cells, toFirst(({ perSecond }) => perSecond), toFirst(({ serverUs, nodeUs }) => serverUs + nodeUs)];
}

function baseRow(results, name) {
  const result = results.find(({ job }) => job.base === name);
  return result === undefined ? [] : [costRow({ ...result.job, operation: name }, result.bases)];
}

function costRow({ operation, instances, callers }, rounds) {
  const middle = (name) => median(rounds.map((round) => round[name]));
  const [statements, bytes, server, node] = ["statements", "walBytes", "serverUs", "nodeUs"].map(middle);
  return [operation, `${instances} x ${callers}`, statements.toFixed(3), whole(bytes), server.toFixed(1), node.toFixed(1)];
}

export function whole(value) {
  return Math.round(value).toLocaleString("en");
}
