/** The result as Markdown. */
import { floor } from "./contenders.js";
import { median, processorRate, rate } from "./rounds.js";

/** @typedef {{ id: string, label: string }} Named */

/**
 * Ratios to the floor, taken within each round.
 *
 * @returns {number[]} empty when the contender did not run
 */
export function ratiosToFloor({ rounds }, id, { value = rate } = {}) {
  const floors = rounds.get(floor.id) ?? [];
  return (rounds.get(id) ?? []).map((round, index) => value(round) / value(floors[index]));
}

/** @param {readonly Named[]} contenders the service first, without the floor */
export function ratioTable(results, contenders) {
  const rows = results.map((result) => {
    const { id, title, goal } = result.workload;
    const cells = contenders.map((contender) => {
      const text = formatRatio(median(ratiosToFloor(result, contender.id)));
      return contender.id === "service" ? `**${text}**` : text;
    });
    return [`${id} ${title}`, goal === undefined ? "" : goal.toFixed(2), ...cells];
  });
  return table(["ratio to the floor", "goal", ...contenders.map(({ label }) => label)], rows);
}

/**
 * The same by processor time, how much the floor took for a request, and how many the service has in a second of it.
 *
 * @param {readonly Named[]} contenders without the floor
 */
export function processorTable(results, contenders) {
  const rows = results.map((result) => {
    const { workload, rounds } = result;
    const floorUs = (rounds.get(floor.id) ?? []).map(({ processorUs }) => processorUs);
    const ours = formatRate(median((rounds.get("service") ?? []).map(processorRate)));
    const cells = contenders.map(({ id }) => formatRatio(median(ratiosToFloor(result, id, { value: processorRate }))));
    return [`${workload.id} ${workload.title}`, median(floorUs).toFixed(1), ours, ...cells];
  });
  return table(["ratio by processor time", "floor, µs", "this service, 1/s", ...contenders.map(({ label }) => label)], rows);
}

/**
 * What the project's README shows: what clients do, and the best Fastify, which has group commit where it writes. The
 * number by the clock and the p99 are of writes only, since there the disk decides.
 */
export function usersTable(results, { reader, writer }) {
  const shown = ["W3", "W1R", "W4i", "W7", "W5"].flatMap((id) => results.find(({ workload }) => workload.id === id) ?? []);
  const rows = shown.map((result) => {
    const { workload, rounds } = result;
    const cells = ["service", (workload.writes === true ? writer : reader).id].flatMap((id) => {
      const own = rounds.get(id) ?? [];
      const perSecond = own.map(workload.writes === true ? rate : processorRate);
      const p99 = workload.writes === true ? formatRatio(median(own.map(({ p99Ms }) => p99Ms))) : "";
      return [formatRatio(median(ratiosToFloor(result, id, { value: processorRate }))), formatRate(median(perSecond)), p99];
    });
    return [workload.title, ...cells];
  });
  const columns = ["this service", reader.label].flatMap((label) => [label, "1/s", "p99, ms"]);
  return table(["ratio by processor time", ...columns], rows);
}

/** @param {readonly Named[]} contenders with the floor */
export function rateTable(results, contenders) {
  const rows = results.map(({ workload, rounds }) => {
    const cells = contenders.map(({ id }) => formatRate(median((rounds.get(id) ?? []).map(rate))));
    return [`${workload.id} ${workload.title}`, ...cells];
  });
  return table(["requests/s", ...contenders.map(({ label }) => label)], rows);
}

/**
 * The time in which 99 % of the responses came, and the service's as a ratio to a rival's.
 *
 * @param {readonly Named[]} contenders with the floor
 */
export function latencyTable(results, contenders, rival) {
  const rows = results.map(({ workload, rounds }) => {
    const p99s = (id) => (rounds.get(id) ?? []).map(({ p99Ms }) => p99Ms);
    const ours = p99s("service");
    const ratio = median(p99s(rival.id).map((p99Ms, index) => ours[index] / p99Ms));
    const cells = contenders.map(({ id }) => formatRatio(median(p99s(id))));
    return [`${workload.id} ${workload.title}`, ...cells, formatRatio(ratio)];
  });
  const head = ["p99, ms", ...contenders.map(({ label }) => label), `this service / ${rival.label}`];
  return table(head, rows);
}

/**
 * How far the rounds lie apart. If the floor's own rounds differ by more than a tenth within a launch, the machine was
 * busy.
 *
 * @param {number} roundCount of a launch
 */
export function spreadLines(results, roundCount) {
  return results.map((result) => {
    const ratios = ratiosToFloor(result, "service");
    const floorRates = (result.rounds.get(floor.id) ?? []).map(rate);
    const apart = Math.max(...inLaunches(floorRates, roundCount).map(percentApart));
    const warning = apart > 10 ? " (**a busy machine: do not trust this**)" : "";
    const ends = `${formatRatio(Math.min(...ratios))} to ${formatRatio(Math.max(...ratios))}`;
    return `- ${result.workload.id}: the service's rounds ${ends}; the floor's ${apart.toFixed(0)} % apart${warning}`;
  });
}

function inLaunches(rates, roundCount) {
  return Array.from({ length: rates.length / roundCount }, (_, index) => {
    return rates.slice(index * roundCount, (index + 1) * roundCount);
  });
}

function percentApart(rates) {
  return (Math.max(...rates) / Math.min(...rates) - 1) * 100;
}

/** @param {number} ratio NaN: did not run */
export function formatRatio(ratio) {
  return Number.isNaN(ratio) ? "" : ratio.toFixed(2);
}

function formatRate(perSecond) {
  return Number.isNaN(perSecond) ? "" : Math.round(perSecond).toLocaleString("en");
}

export function table(head, rows) {
  const rule = head.map((_, index) => (index === 0 ? "---" : "---:"));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** What the tables leave out. */
export const notes = `\
- The floor is a bare node:http server that sends constant bytes with the same header fields, and does nothing else.
  The figures are medians of ratios within interleaved rounds, over several launches.
- Every server checks a bearer key, counts two windows for each key, validates, and syncs each create and change to disk
  before it responds. The peers have no request ids, no exact int64, no bans and no limit for failed keys. In W6 they
  return 401 and count nothing. The service returns 429.
- W1 and W2 ask for the same page again and again, which a server or its processor may still have. A client that follows
  Link reads each page once, as in W1R and W2R, which begin after random animals.
- By processor time, a ratio is that of requests for each second of processor time, the kernel's for them included.
- W4 and W7 compare stores more than frameworks. The peers use SQLite (WAL, synchronous=FULL) with one insert or change
  in each commit. The service uses group commit. "Fastify 5, group commit" puts all of a turn of the event loop in one.
- Half of the changes of W7 are refused with 412, and not written. The floors send 200 to all; the one with group commit
  writes every second one.
- All servers read from memory. With queries to SQLite, W1 and W2 would compare databases. Go uses only its standard
  library, and a log with one write and one fdatasync for each create or change.`;
