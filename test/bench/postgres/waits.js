/** How long requests wait: at a moderate rate, and while one of the instances is stopped in mid-load. */
import { setTimeout as delay } from "node:timers/promises";
import { formatRatio, table } from "../report.js";
import { median } from "../rounds.js";

const instanceCount = 3;
const perSecond = 1_000;
const latencyGoal = 2.5;
const base = "SELECT 1";
const others = ["limits, 1 key", "limits, 1,000 keys", "get", "list of 20"];

const stopGoalMs = 500;
const stopped = ["limits, 1 key", "limits, 1,000 keys", "create"];
/** The stop begins somewhere in the first part of the load, and ends before the load does. */
const stopAfterMsMax = 400;
const stopMs = 1_000;
const stopLoadMs = 2_000;

/** @returns {Promise<string>} Markdown */
export async function measureLatencies(instances, { rounds, ms, progress }) {
  const operations = [base, ...others];
  const results = new Map(operations.map((operation) => [operation, []]));
  for (let round = 0; round < rounds; round += 1) {
    progress(`latencies, round ${round + 1} of ${rounds}`);
    for (const operation of round % 2 === 0 ? operations : [...operations].reverse()) {
      const { all } = await instances.run({ operation, perSecond, ms }, instanceCount);
      results.get(operation).push(all);
    }
  }
  const rows = operations.map((operation) => {
    const measured = results.get(operation);
    const ratios = measured.map(({ p50Ms }, index) => p50Ms / results.get(base)[index].p50Ms);
    const goal = operation.startsWith("limits") ? String(latencyGoal) : "";
    const middle = (name) => median(measured.map((round) => round[name])).toFixed(2);
    return [operation, goal, formatRatio(median(ratios)), middle("p50Ms"), middle("p99Ms")];
  });
  const head = [`${instanceCount} x ${perSecond} a second`, "goal", "p50, times SELECT 1", "p50 ms", "p99 ms"];
  return table(head, rows);
}

/**
 * The longest time in which another instance had no response, with and without a stop.
 *
 * @returns {Promise<string>} Markdown
 */
export async function measureStops(instances, { rounds, progress }) {
  const rows = [];
  for (const operation of stopped) {
    const gaps = { undisturbed: [], disturbed: [] };
    for (let round = 0; round < rounds; round += 1) {
      progress(`${operation}: stop ${round + 1} of ${rounds}`);
      gaps.undisturbed.push(await longestGap(instances, operation, undefined));
      gaps.disturbed.push(await longestGap(instances, operation, stopOne));
    }
    const longest = (values) => `${Math.max(...values).toFixed(0)}`;
    rows.push([operation, longest(gaps.undisturbed), longest(gaps.disturbed), String(stopGoalMs), String(rounds)]);
  }
  const head = ["longest gap of the others, ms", "nobody is stopped", "one is stopped", "goal", "stops"];
  return table(head, rows);
}

async function longestGap(instances, operation, whileRunning) {
  const task = { operation, callers: 64, ms: stopLoadMs };
  const { each } = await instances.run(task, instanceCount, { whileRunning });
  return Math.max(...each.slice(0, -1).map(({ longestGapMs }) => longestGapMs));
}

async function stopOne(pids) {
  await delay(100 + Math.random() * stopAfterMsMax);
  const last = pids.at(-1);
  process.kill(last, "SIGSTOP");
  await delay(stopMs);
  process.kill(last, "SIGCONT");
}
