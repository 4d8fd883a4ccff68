/**
 * What is compared: the service, the floor, the peers. Each starts with its own new folder with the same animals, has two
 * keys with the same plans, and serves the same paths.
 */
import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { machine } from "./machine.js";
import { run, startServer } from "./processes.js";

const here = import.meta.dirname;
const node = process.execPath;
const quotaMax = 1_000_000_000;

/**
 * @typedef {import("./workloads.js").Keys} Keys
 * @typedef {object} Launched
 * @property {import("./processes.js").RunningServer} server
 * @property {Keys} keys
 * @property {() => number} [keptCount] how many animals and changes are on disk; after the stop
 * @typedef {object} Contender
 * @property {string} id
 * @property {string} label
 * @property {boolean} [isOfStores]
 * @property {(response: import("./load.js").Received) => string | undefined} [fault] checked in place of the workload's
 * @property {(folder: string) => Promise<Launched>} launch folder: new and empty
 */

/**
 * The service, as it runs in production.
 *
 * @param {{ id: string, label: string, program: string, animalsFile: string, template: string,
 *   nodeFlags?: readonly string[] }} options program: dist/server.js; template: a folder that is made here
 */
export async function prepareService({ id, label, program, animalsFile, template, nodeFlags = [] }) {
  mkdirSync(template, { recursive: true });
  const command = async (...args) => {
    const output = await run("server", { command: node, args: [program, ...args, "--data", template] });
    return output.trim();
  };
  const createKey = (count) =>
    command("keys", "create", "--plan", "enterprise", "--per-minute", String(count), "--per-day", String(count));
  const keys = { unlimited: await createKey(quotaMax), exhausted: await createKey(1) };
  await command("import", animalsFile);
  return {
    id,
    label,
    async launch(folder) {
      cpSync(template, folder, { recursive: true });
      const args = [...nodeFlags, program, "--port", "0", "--data", folder];
      const server = await startServer({ command: node, args });
      return { server, keys, keptCount: () => lineCount(join(folder, "pets.jsonl")) };
    },
  };
}

export const floor = { id: "floor", label: "floor: bare node:http" };

/** The floor with group commit and nothing else. A durable create cannot be faster. */
export const durableFloor = { id: "durable-floor", label: "floor, group commit" };

/** Bare node:http that sends exactly the fields and content of a response of the service. */
export function floorOf(response, kind = floor) {
  const isDurable = kind === durableFloor;
  return {
    ...kind,
    fault: (received) => (hasSameShape(received, response) ? undefined : "the fields are not those of the service"),
    async launch(folder) {
      const file = join(folder, "response.json");
      writeFileSync(file, JSON.stringify(response));
      const server = await startServer({ command: node, args: [join(here, "floor.js"), file, ...(isDurable ? [folder] : [])] });
      return { server, keys: randomKeys() };
    },
  };
}

/** Same status, same fields in the same order, same length of content. */
function hasSameShape(one, other) {
  const shape = ({ status, rawFields, body }) =>
    JSON.stringify([status, rawFields.filter((_, index) => index % 2 === 0), body.length]);
  return shape(one) === shape(other);
}

/**
 * lacks: what this machine lacks for it. isOfStores: differs from another peer only in its store, so it runs only in
 * workloads that write.
 *
 * @type {readonly { id: string, label: string, lacks(): Promise<string | undefined>, isOfStores?: boolean }[]}
 */
export const peers = [
  { id: "fastify", label: "Fastify 5", lacks: lackOfSqlite },
  { id: "fastify-grouped", label: "Fastify 5, group commit", lacks: lackOfSqlite, isOfStores: true },
  { id: "express", label: "Express 5", lacks: lackOfSqlite },
  { id: "hono", label: "Hono", lacks: lackOfSqlite },
  { id: "go", label: "Go net/http", lacks: lackOfGo },
];

async function lackOfGo() {
  return machine.go === undefined ? "no `go` on this machine" : undefined;
}

async function lackOfSqlite() {
  try {
    const { default: Database } = await import("better-sqlite3");
    new Database(":memory:").close();
    return undefined;
  } catch (error) {
    return `better-sqlite3 does not load (${error.code})`;
  }
}

/**
 * @param {string} id one of `peers`
 * @param {string} buildFolder where Go builds, kept from run to run
 */
export async function preparePeer(id, animalsFile, buildFolder) {
  const { label = id, isOfStores = false } = peers.find((peer) => peer.id === id) ?? {};
  const isGo = id === "go";
  const [command, firstArgs] = isGo
    ? [await buildGo(buildFolder), []]
    : [node, [join(here, "peers", `${id}.js`)]];
  const countKept = isGo ? (folder) => lineCount(join(folder, "pets.jsonl")) : await sqliteCounter();
  return {
    id,
    label,
    isOfStores,
    async launch(folder) {
      const keys = randomKeys();
      const plans = `${keys.unlimited}=${quotaMax},${keys.exhausted}=1`;
      const args = [...firstArgs, "--data", folder, "--animals", animalsFile, "--keys", plans];
      return { server: await startServer({ command, args }), keys, keptCount: () => countKept(folder) };
    },
  };
}

async function buildGo(buildFolder) {
  const binary = join(buildFolder, "peer");
  const source = join(here, "peers", "go");
  const files = readdirSync(source).map((name) => join(source, name));
  // The cache is beside the binary, so the build leaves nothing in the home folder.
  const env = { GOCACHE: join(buildFolder, "cache"), GO111MODULE: "off" };
  await run("load", { command: "go", args: ["build", "-o", binary, ...files], env });
  return binary;
}

/** @returns {Keys} in the format of the service's keys */
function randomKeys() {
  const key = () => `as_${randomBytes(32).toString("hex").slice(0, 43)}`;
  return { unlimited: key(), exhausted: key() };
}

async function sqliteCounter() {
  const { countKept } = await import("./peers/animals.js");
  return countKept;
}

function lineCount(file) {
  const bytes = readFileSync(file);
  let count = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count += 1;
  return count;
}
