/**
 * The bench measures the service, the floors and the peers side by side, prints Markdown and draws the chart.
 *
 *     npm run bench -- --help
 *
 * The load goes to 127.0.0.1 only and is bounded in time. A wrong response ends the run with an error.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { drawChart } from "./chart.js";
import { durableFloor, floor, floorOf, peers, preparePeer, prepareService } from "./contenders.js";
import { describeMachine } from "./machine.js";
import { choose, chooseWorkloads, findBuild, inFolder, ownBuild, readCount, readFlags } from "./options.js";
import { run } from "./processes.js";
import { latencyTable, notes, processorTable, rateTable, ratioTable, spreadLines, usersTable } from "./report.js";
import { interleave, launchChecked } from "./rounds.js";
import { measureTail } from "./tail.js";
import { animalCount, animalLines, workloads } from "./workloads.js";

const here = import.meta.dirname;
const project = resolve(here, "../..");

const help = `npm run bench -- [flags]

  --only W1,W3         workloads: ${workloads.map(({ id, title }) => `${id} (${title})`).join(", ")}
  --peers fastify,go   peers: ${peers.map(({ id }) => id).join(", ")}; "" for none
  --launches 3         launches of each server in each workload
  --rounds 3           rounds of each launch
  --seconds 2          length of a round
  --warm-up 3          seconds before the first round: V8 compiles in the first one
  --quick              2 rounds of 1 s, to see that everything works
  --no-tail            leaves out the mixed load
  --no-start-up        leaves out start-up, memory, page cost, and short commands
  --animals 1000000    animals of the start-up (10000000 takes minutes)
  --dist DIR           the build of the service (default dist)
  --markdown FILE      where the report goes besides stdout
  --svg FILE           where the chart goes (default test/bench/results.svg; not drawn with --quick or --only
                       unless it is given)`;

const { values } = readFlags(help, {
  only: { type: "string" },
  peers: { type: "string" },
  launches: { type: "string", default: "3" },
  rounds: { type: "string", default: "3" },
  seconds: { type: "string", default: "2" },
  "warm-up": { type: "string", default: "3" },
  quick: { type: "boolean", default: false },
  "no-tail": { type: "boolean", default: false },
  "no-start-up": { type: "boolean", default: false },
  animals: { type: "string", default: "1000000" },
  dist: { type: "string", default: ownBuild },
  markdown: { type: "string" },
  svg: { type: "string" },
});
const program = join(findBuild(values.dist), "server.js");
const rounds = {
  launches: values.quick ? 1 : readCount("launches", values.launches),
  rounds: values.quick ? 2 : readCount("rounds", values.rounds),
  seconds: values.quick ? 1 : readCount("seconds", values.seconds),
  warmUpSeconds: values.quick ? 2 : readCount("warm-up", values["warm-up"]),
};
const startUpAnimalCount = readCount("animals", values.animals);
const chosenWorkloads = chooseWorkloads(values.only);
const chosenPeers = choose("peers", values.peers, peers);
const [plain, grouped] = ["fastify", "fastify-grouped"].map((name) => peers.find(({ id }) => id === name));

await inFolder(async (folder) => {
  const settings = { ...rounds, folder };
  const machineLines = [await describeService(), ...describeMachine(folder)].map((line) => `- ${line}`);
  const { service, others, missing } = await prepareAll(folder);
  const results = [];
  for (const workload of chosenWorkloads) {
    progress(`${workload.id} ${workload.title}`);
    const floors = await floorsFor(service, workload, folder);
    const contenders = [...floors, service, ...others.filter((peer) => takesPart(peer, workload))];
    results.push({ workload, rounds: await interleave(contenders, workload, settings) });
  }
  const named = [service, durableFloor, ...others];
  const parts = [
    [...machineLines, ...missing.map((line) => `- ${line}`)].join("\n"),
    usersTable(results, { reader: plain, writer: grouped }),
    ratioTable(results, named),
    processorTable(results, named),
    rateTable(results, [{ ...floor, label: "floor" }, ...named]),
    latencyTable(results, [{ ...floor, label: "floor" }, ...named], grouped),
    [...spreadLines(results, settings.rounds), notes].join("\n"),
  ];
  if (!values["no-tail"]) parts.push(await tail(service, others, settings));
  if (!values["no-start-up"]) parts.push(...(await startUp()));
  const report = parts.filter((part) => part !== "").join("\n\n");
  console.log(report);
  if (values.markdown !== undefined) writeFileSync(values.markdown, `${report}\n`);
  draw(results, named);
  progress(`took ${Math.round(performance.now() / 1_000)} s`);
});

async function describeService() {
  const version = await run("server", { command: process.execPath, args: [program, "--version"] });
  return `animal-store ${version.trim()}, default settings; ${rounds.launches} launches of ${rounds.rounds} rounds of ` +
    `${rounds.seconds} s, after ${rounds.warmUpSeconds} s of warm-up`;
}

async function prepareAll(folder) {
  const animalsFile = join(folder, "animals.jsonl");
  writeFileSync(animalsFile, animalLines(animalCount));
  const template = join(folder, "template");
  progress("preparing");
  const service = await prepareService({ id: "service", label: "this service", program, animalsFile, template });
  const goFolder = join(project, "build", "bench-go");
  mkdirSync(goFolder, { recursive: true });
  const others = [];
  const missing = [];
  for (const { id, label, lacks } of chosenPeers) {
    const lack = await lacks();
    if (lack === undefined) others.push(await preparePeer(id, animalsFile, goFolder));
    else missing.push(`**${label} left out**: ${lack}`);
  }
  return { service, others, missing };
}

/** A peer that differs only in its store takes part where stores do. */
function takesPart({ id, isOfStores }, { writes, peers: able }) {
  return (able === undefined || able.includes(id)) && (isOfStores !== true || writes === true);
}

/** The floors send the service's own response. For what writes there is a second floor, which does so first. */
async function floorsFor(service, workload, folder) {
  const { server, response } = await launchChecked(service, workload, folder);
  await server.stop();
  const kinds = [floor, ...(workload.writes === true ? [durableFloor] : [])];
  return kinds.map((kind) => floorOf(response, kind));
}

async function tail(service, others, settings) {
  progress("tail");
  const [bare] = await floorsFor(service, workloads[0], settings.folder);
  const tableOfTail = await measureTail([bare, service, ...others], settings);
  const title = "Mixed load, 64 connections, 90 % reads and 10 % durable creates; latency in ms, medians of rounds:";
  return `${title}\n\n${tableOfTail}`;
}

/** The programs that measure starts print Markdown. The second and third log cost more to read than the first. */
async function startUp() {
  const logs = [[], ["--tokens"], ["--categories", "10000"]];
  const programs = [
    ...logs.map((flags) => ["start-up.js", "--animals", String(startUpAnimalCount), ...flags]),
    ["empty-start.js", "--rounds", String(values.quick ? 2 : 20)],
  ];
  const tables = [];
  for (const [file, ...flags] of programs) {
    progress([file, ...flags].join(" "));
    const args = [join(here, file), "--dist", values.dist, ...flags];
    tables.push((await run("server", { command: process.execPath, args })).trim());
  }
  return tables;
}

function draw(results, contenders) {
  const isWhole = !values.quick && values.only === undefined && values.peers === undefined;
  const file = values.svg ?? (isWhole ? join(here, "results.svg") : undefined);
  if (file !== undefined) writeFileSync(file, drawChart(results, contenders));
}

function progress(text) {
  console.error(`… ${text}`);
}
