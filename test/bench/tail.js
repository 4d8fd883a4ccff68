/**
 * The tail: how long the slowest hundredth of the reads takes if one request in ten is a durable create, and without
 * creates. The load comes from generator.js, because wrk cannot measure reads and creates separately.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { generateLoad } from "./load.js";
import { table } from "./report.js";
import { median } from "./rounds.js";
import { mixedRequests } from "./workloads.js";

const connections = 64;
/** The service's p99 of reads beside creates, divided by its p99 of reads alone, is at most this. */
const goal = 2;

/** The service's metric for the longest pause of its event loop, in seconds. It includes a timer's period. */
const pauseMetric = /^animal_store_event_loop_delay_seconds\{percentile="100"\} (\S+)/m;
const timerPeriodMs = 10;

/**
 * @param {readonly import("./contenders.js").Contender[]} contenders
 * @param {import("./rounds.js").Settings} settings
 * @returns {Promise<string>} Markdown
 */
export async function measureTail(contenders, settings) {
  const launches = [];
  try {
    for (const contender of contenders) {
      const folder = mkdtempSync(join(settings.folder, `${contender.id}-`));
      launches.push({ contender, folder, alone: [], reads: [], creates: [], ...(await contender.launch(folder, { hasMetrics: true })) });
    }
    for (let round = -1; round < settings.rounds; round += 1) {
      for (const launch of launches) await oneRound(launch, round < 0, settings);
    }
    const rows = [];
    for (const launch of launches) rows.push(await rowOf(launch));
    const head = ["ms", "reads alone p50", "p99", "reads beside creates p50", "p99", "p99 ratio", "creates p99"];
    return table([...head, "longest pause"], rows);
  } finally {
    await Promise.all(launches.map(({ server }) => server.stop()));
    for (const { folder } of launches) rmSync(folder, { recursive: true, force: true });
  }
}

async function oneRound(launch, isWarmUp, { seconds, warmUpSeconds }) {
  const { server, keys, folder, contender } = launch;
  const load = { port: server.port, connections, seconds: isWarmUp ? warmUpSeconds : seconds, folder };
  const alone = await generateLoad({ ...load, requests: mixedRequests(keys, false) });
  const mixed = await generateLoad({ ...load, requests: mixedRequests(keys, true) });
  for (const { all } of [alone, mixed]) {
    if (all.errors + all.broken > 0 || all.requests === 0) {
      throw new Error(`${contender.label}, tail: ${all.errors} errors and ${all.broken} broken of ${all.requests}`);
    }
  }
  if (isWarmUp) {
    if (launch.metricsPort !== undefined) await longestPauseMs(launch.metricsPort); // Each read resets the metric.
    return;
  }
  launch.alone.push(alone.reads);
  launch.reads.push(mixed.reads);
  launch.creates.push(mixed.creates);
}

async function rowOf({ contender, alone, reads, creates, metricsPort }) {
  const of = (rounds, name) => median(rounds.map((round) => round[name]));
  const ratio = median(reads.map((round, index) => round.p99Ms / alone[index].p99Ms)).toFixed(2);
  const pauseMs = metricsPort === undefined ? undefined : await longestPauseMs(metricsPort);
  return [
    contender.label,
    of(alone, "p50Ms").toFixed(2),
    of(alone, "p99Ms").toFixed(2),
    of(reads, "p50Ms").toFixed(2),
    of(reads, "p99Ms").toFixed(2),
    contender.id === "service" ? `**${ratio}** (goal ${goal})` : ratio,
    of(creates, "p99Ms").toFixed(2),
    pauseMs === undefined ? "" : pauseMs.toFixed(1),
  ];
}

/** @param {number} port of the Prometheus text */
async function longestPauseMs(port) {
  const text = await new Promise((resolve) => {
    const outgoing = get({ host: "127.0.0.1", port, path: "/metrics", agent: false }, (incoming) => {
      let body = "";
      incoming.setEncoding("utf8").on("data", (chunk) => (body += chunk));
      incoming.on("end", () => resolve(body));
    });
    outgoing.on("error", () => resolve("")); // No metrics: then no pause in the report.
  });
  const seconds = pauseMetric.exec(text)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000 - timerPeriodMs;
}
