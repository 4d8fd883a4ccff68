/**
 * Measures start-up time, memory, and the cost of a page. A log of many animals is read in three ways, each in its own
 * process, in turn: as the service does (every line is checked), as raw bytes, and with readline and JSON.parse.
 *
 *     node test/bench/start-up.js [--animals 1000000] [--rounds 5] [--dist dist] [--tokens] [--categories 50]
 *
 * With --tokens each animal was created with an Idempotency-Key just now. Times are processor times.
 * Prints Markdown. Ten million animals take a few minutes and 4 GB.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, createReadStream, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { crc32 } from "node:zlib";
import { findBuild, inFolder, ownBuild, readCount, readFlags } from "./options.js";
import { table } from "./report.js";
import { median } from "./rounds.js";

const { values } = readFlags("node test/bench/start-up.js [--animals N] [--rounds N] [--dist DIR] [--tokens] [--categories N]", {
  animals: { type: "string", default: "1000000" },
  rounds: { type: "string", default: "5" },
  dist: { type: "string", default: ownBuild },
  tokens: { type: "boolean", default: false },
  categories: { type: "string", default: "50" },
  way: { type: "string" },
  folder: { type: "string" },
});
const animalCount = readCount("animals", values.animals);
const categoryCount = readCount("categories", values.categories);
const build = findBuild(values.dist);
const load = (path) => import(pathToFileURL(join(build, path)).href);
/** How often a page is read: enough for a mean, and shorter than the start itself. */
const pageCount = 20_000;
const groupLength = 32;

const ways = {
  /** All bytes, kept. */
  raw: (path) => {
    const descriptor = openSync(path, "r");
    const chunks = [];
    for (;;) {
      const chunk = Buffer.allocUnsafeSlow(4 << 20);
      const count = readSync(descriptor, chunk);
      if (count === 0) break;
      chunks.push(chunk.subarray(0, count));
    }
    closeSync(descriptor);
    return { kept: chunks };
  },
  readline: async (path) => {
    const animals = new Map();
    for await (const line of createInterface({ input: createReadStream(path) })) {
      const animal = JSON.parse(line);
      animals.set(animal.id, animal);
    }
    return { kept: animals };
  },
  service: async (path, { openPetStore, nodeDisk }) => {
    const store = await openPetStore({ disk: nodeDisk, dataDir: resolve(path, ".."), report: () => undefined });
    return { kept: store, page: (after, status) => store.list({ after, limit: 20, status }) };
  },
};

if (values.way === undefined) {
  await inFolder(async (folder) => compare(folder));
} else {
  await measure(values.way, join(values.folder ?? "", "pets.jsonl"));
}

function compare(folder) {
  const textBytes = writeLog(join(folder, "pets.jsonl"), animalCount);
  const results = { raw: [], readline: [], service: [] };
  const rounds = readCount("rounds", values.rounds);
  for (let round = 0; round < rounds; round++) {
    for (const way of ["raw", "service", ...(round < 2 ? ["readline"] : [])]) results[way].push(child(way, folder));
  }
  const rows = Object.entries(results).map(([way, runs]) => {
    const ratio = median(runs.map(({ ms }, index) => ms / (results.raw[index]?.ms ?? ms)));
    const overhead = (median(runs.map(({ bytes }) => bytes)) - (way === "service" ? textBytes : 0)) / animalCount;
    const name = { raw: "raw read, kept", readline: "readline + JSON.parse", service: "this service" }[way];
    const memory = way === "service" ? `text + ${overhead.toFixed(0)}` : overhead.toFixed(0);
    return [name, median(runs.map(({ ms }) => ms)).toFixed(0), ratio.toFixed(1), memory];
  });
  const tokens = values.tokens ? ", each with an Idempotency-Key" : "";
  console.log(`Start-up with ${animalCount.toLocaleString("en")} animals${tokens}, ${categoryCount} categories, medians of ${rounds} rounds\n`);
  console.log(table(["way", "ms", "times a raw read", "bytes an animal"], rows));
  const smallFolder = join(folder, "small");
  mkdirSync(smallFolder);
  writeLog(join(smallFolder, "pets.jsonl"), 10_000);
  const small = child("service", smallFolder).pageUs;
  const large = median(results.service.map(({ pageUs }) => pageUs));
  const count = animalCount.toLocaleString("en");
  console.log(`\nA page of 20 after a random id, filtered or not: ${small.toFixed(1)} µs at 10,000 animals, ` +
    `${large.toFixed(1)} µs at ${count}.`);
}

function child(way, folder) {
  const flags = ["--way", way, "--folder", folder, "--animals", String(animalCount), "--dist", values.dist];
  const output = execFileSync(process.execPath, ["--expose-gc", import.meta.filename, ...flags]);
  return JSON.parse(output.toString());
}

async function measure(way, path) {
  const { openPetStore } = await load("store/json-lines-pet-store.js");
  const { nodeDisk } = await load("disk/node-disk.js");
  globalThis.gc();
  const before = process.memoryUsage().rss;
  const start = process.cpuUsage();
  const { kept, page } = await ways[way](path, { openPetStore, nodeDisk });
  const { user, system } = process.cpuUsage(start);
  const ms = (user + system) / 1_000;
  globalThis.gc();
  const bytes = process.memoryUsage().rss - before;
  const total = kept.animalCount ?? 0;
  const pageStart = performance.now();
  for (let index = 0; page !== undefined && index < pageCount; index++) {
    await page(Math.floor(Math.random() * total), index % 2 === 0 ? undefined : "sold");
  }
  console.log(JSON.stringify({ ms, bytes, pageUs: ((performance.now() - pageStart) * 1_000) / pageCount }));
}

/** The members of a create with an Idempotency-Key: a token, as random as a hash, and the time. */
function onceOf(id) {
  const token = createHash("sha256").update(String(id)).digest().subarray(0, 16).toString("base64url");
  return `,"once":"${token}","at":${Math.floor(Date.now() / 1_000)}`;
}

/** Writes an intact log; returns how many bytes of it clients get to see. */
function writeLog(path, count) {
  const descriptor = openSync(path, "w");
  const statuses = ["available", "pending", "sold"];
  let text = "";
  let textBytes = 0;
  for (let id = 1; id <= count; id++) {
    const json = `{"id":${id},"name":"Animal ${id}","categoryId":${(Math.imul(id, 2_654_435_761) >>> 0) % categoryCount},"status":"${statuses[id % 3]}"}`;
    const group = id - ((id - 1) % groupLength);
    const line = `${json.slice(0, -1)},"group":${group}${values.tokens ? onceOf(id) : ""}`;
    text += `${line},"crc":"${crc32(line).toString(16).padStart(8, "0")}"}\n`;
    textBytes += json.length;
    if (text.length > 1 << 20 || id === count) {
      writeSync(descriptor, text);
      text = "";
    }
  }
  closeSync(descriptor);
  return textBytes;
}
