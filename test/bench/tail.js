/**
 * The tail: how long the slowest hundredth of the reads takes if one request in ten is a durable create, and without
 * creates. The load comes from generator.js, because wrk cannot measure reads and creates separately.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { generateLoad } from "./load.js";
import { table } from "./report.js";
import { median } from "./rounds.js";
import { mixedRequests } from "./workloads.js";

const connections = 64;
/** The service's p99 of reads beside creates, divided by its p99 of reads alone, is at most this. */
const goal = 2;


/** @returns {Promise<string>} Markdown */
export async function measureTail(contenders, settings) {
  const launches = [];
  try {
    for (const contender of contenders) {
      const folder = mkdtempSync(join(settings.folder, `${contender.id}-`));
      launches.push({ contender, folder, alone: [], reads: [], creates: [], ...(await contender.launch(folder)) });
    }
    for (let round = -1; round < settings.rounds; round += 1) {
      for (const launch of launches) await oneRound(launch, round < 0, settings);
    }
    const head = ["ms", "reads alone p50", "p99", "reads beside creates p50", "p99", "p99 ratio", "creates p99"];
    return table(head, launches.map(rowOf));
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
  if (isWarmUp) return;
  launch.alone.push(alone.reads);
  launch.reads.push(mixed.reads);
  launch.creates.push(mixed.creates);
}

function rowOf({ contender, alone, reads, creates }) {
  const of = (rounds, name) => median(rounds.map((round) => round[name]));
  const ratio = median(reads.map((round, index) => round.p99Ms / alone[index].p99Ms)).toFixed(2);
  return [
    contender.label,
    of(alone, "p50Ms").toFixed(2),
    of(alone, "p99Ms").toFixed(2),
    of(reads, "p50Ms").toFixed(2),
    of(reads, "p99Ms").toFixed(2),
    contender.id === "service" ? `**${ratio}** (goal ${goal})` : ratio,
    of(creates, "p99Ms").toFixed(2),
  ];
}
