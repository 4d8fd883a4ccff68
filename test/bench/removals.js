/**
 * What pages cost once animals were removed: the processor time of a request for 100 animals, the first ones and those
 * after any id, with none, one and nine of ten removed. Needs no npm install.
 *
 *     node test/bench/removals.js
 */
import { writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { prepareService } from "./contenders.js";
import { inFolder, ownBuild } from "./options.js";
import { median } from "./rounds.js";
import { animalCount, animalLines } from "./workloads.js";

const connections = 8;
const requestsPerRound = 4_000;
const roundCount = 5;

const removals = { "none": () => false, "one": (id) => id === 50, "nine of ten": (id) => id % 10 !== 0 };

await inFolder(async (folder) => {
  const animalsFile = join(folder, "animals.jsonl");
  writeFileSync(animalsFile, animalLines(animalCount));
  const program = join(ownBuild, "server.js");
  const service = await prepareService({ id: "service", label: "this service", program, animalsFile, template: join(folder, "template") });
  const running = [];
  for (const [name, isRemoved] of Object.entries(removals)) {
    const { server, keys } = await service.launch(join(folder, name.replaceAll(" ", "-")));
    const agent = new Agent({ keepAlive: true, maxSockets: connections });
    const send = (method, path) => sent(`http://127.0.0.1:${server.port}${path}`, { method, agent, key: keys.unlimited });
    const ids = Array.from({ length: animalCount }, (_, index) => index + 1).filter(isRemoved);
    await atOnce(ids.length, (index) => send("DELETE", `/v1/pets/${ids[index]}`));
    running.push({ name, server, agent, send, first: [], after: [] });
  }
  for (let round = 0; round <= roundCount; round += 1) { // The first one warms up.
    for (const one of running) {
      for (const kind of ["first", "after"]) {
        const beforeUs = one.server.processorUs();
        await atOnce(requestsPerRound, (index) => {
          const id = (index * 7_919) % (animalCount * 0.9);
          return one.send("GET", `/v1/pets?limit=100${kind === "after" ? `&after=${Math.floor(id)}` : ""}`);
        });
        if (round > 0) one[kind].push((one.server.processorUs() - beforeUs) / requestsPerRound);
      }
    }
  }
  for (const { name, server, agent, first, after } of running) {
    console.log(`${name.padEnd(12)} first ${shown(first)}, after any id ${shown(after)}`);
    agent.destroy();
    await server.stop();
  }
});

/** The median and the spread, in µs. */
function shown(times) {
  return `${median(times).toFixed(0)} µs (${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)})`;
}

async function atOnce(count, run) {
  let next = 0;
  await Promise.all(Array.from({ length: connections }, async () => {
    while (next < count) await run(next++);
  }));
}

function sent(url, { method, agent, key }) {
  const headers = { Authorization: `Bearer ${key}`, ...(method === "DELETE" && { "If-Match": "*" }) };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, agent, headers }, (response) => {
      response.resume();
      response.on("end", () => (response.statusCode < 300 ? resolve() : reject(new Error(`${method} ${url}: ${response.statusCode}`))));
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}
