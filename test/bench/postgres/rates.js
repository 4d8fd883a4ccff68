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
  { operation: "get", base: "SELECT 1", instances: 1, callers: 64, goal: 2 },
  { operation: "list of 20", base: "SELECT 1", instances: 1, callers: 64, goal: 0.35 },
];

/** Before a round counts. */
const warmUpRounds = 1;

/**
 * @param {readonly object[]} chosen of `jobs`
 * @returns {Promise<string>} Markdown
 */
export async function measureRates(instances, settings, chosen) {
  const results = chosen.map((job) => ({ job, bases: [], rounds: [] }));
  // Creates come last, because what PostgreSQL cleans up after them would take time from the others.
  for (const base of ["SELECT 1", "single INSERT"]) {
    const group = results.filter(({ job }) => job.base === base);
    for (let round = -warmUpRounds; round < settings.rounds && group.length > 0; round += 1) {
      settings.progress(`rates, beside ${base}, round ${round + warmUpRounds + 1} of ${settings.rounds + warmUpRounds}`);
      // Forwards and backwards, so that nothing always runs after the same.
      const order = round % 2 === 0 ? group : [...group].reverse();
      for (const result of order) await oneRound(instances, result, round, settings.ms);
    }
  }
  const head = ["", "instances x callers", "of", "goal", "ratio", "from - to", "requests/s"];
  return [
    table(head, results.map(ratioRow)),
    table(["for each request", "instances x callers", "statements", "WAL bytes", "µs of PostgreSQL", "µs of Node"], [
      ...["SELECT 1", "single INSERT"].flatMap((name) => baseRow(results, name)),
      ...results.map(({ job, rounds }) => costRow(job, rounds)),
    ]),
  ].join("\n\n");
}

async function oneRound(instances, { job, bases, rounds }, round, ms) {
  const { operation, base, callers } = job;
  for (const [name, measured] of [[base, bases], [operation, rounds]]) {
    const { all } = await instances.run({ operation: name, callers, ms }, job.instances);
    if (round >= 0) measured.push(all);
  }
}

function ratioRow({ job, bases, rounds }) {
  const { operation, base, instances, callers, goal } = job;
  const ratios = rounds.map(({ perSecond }, index) => perSecond / bases[index].perSecond);
  return [
    operation,
    `${instances} x ${callers}`,
    base,
    goal === undefined ? "" : String(goal),
    `**${formatRatio(median(ratios))}**`,
    `${formatRatio(Math.min(...ratios))} - ${formatRatio(Math.max(...ratios))}`,
    whole(median(rounds.map(({ perSecond }) => perSecond))),
  ];
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
