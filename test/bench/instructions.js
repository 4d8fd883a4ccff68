/**
 * Counts the instructions that two builds of the service need for a request, outside of the kernel. The count hardly
 * depends on what else the machine does. Needs valgrind, no npm install, and about a minute for each workload and build.
 *
 *     node test/bench/instructions.js DIST_A DIST_B --only W3
 */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { prepareService } from "./contenders.js";
import { chooseWorkloads, exitWithUsage, findBuild, inFolder, readCount, readFlags } from "./options.js";
import { launchChecked } from "./rounds.js";
import { animalCount, animalLines } from "./workloads.js";

const help = `node test/bench/instructions.js DIST_A DIST_B [flags]

  --only W1,W3       workloads (default W1,W1R,W3,W5)
  --requests 6000    requests of a round
  --rounds 3         rounds; the one with the fewest instructions counts`;

/** Enough for V8 to compile everything that is used. */
const warmUpCount = 20_000;
const connectionCount = 16;

const { values, positionals } = readFlags(help, {
  only: { type: "string", default: "W1,W1R,W3,W5" },
  requests: { type: "string", default: "6000" },
  rounds: { type: "string", default: "3" },
});
if (positionals.length !== 2) exitWithUsage("Two builds are needed; see --help");
const builds = positionals.map(findBuild);
const requestCount = readCount("requests", values.requests);
const roundCount = readCount("rounds", values.rounds);

await inFolder(async (folder) => {
  const animalsFile = join(folder, "animals.jsonl");
  writeFileSync(animalsFile, animalLines(animalCount));
  for (const workload of chooseWorkloads(values.only)) {
    const counts = [];
    for (const [index, dist] of builds.entries()) {
      const own = join(folder, `${workload.id}-${index}`);
      counts.push(await measure(dist, workload, { animalsFile, own }));
    }
    const [a, b] = counts.map((rounds) => Math.min(...rounds));
    console.log(`${workload.id} ${workload.title}: A ${shown(counts[0])}, B ${shown(counts[1])}; A/B ${(a / b).toFixed(3)}`);
  }
});

/** @returns {Promise<number[]>} the instructions of a request, for each round */
async function measure(dist, workload, { animalsFile, own }) {
  const counts = join(own, "counts");
  // Node writes machine code while it runs. Without threads for garbage, its collection is counted too.
  const wrapper = ["valgrind", "--tool=callgrind", "--smc-check=all-non-file", `--callgrind-out-file=${counts}`];
  const service = await prepareService({
    id: "service",
    label: dist,
    program: join(dist, "server.js"),
    animalsFile,
    template: join(own, "template"),
    nodeFlags: ["--single-threaded-gc"],
    wrapper,
  });
  const { server, requests } = await launchChecked(service, workload, own);
  try {
    await send(server.port, requests, warmUpCount);
    const rounds = [];
    for (let round = 1; round <= roundCount; round += 1) {
      control("--zero", server.pid);
      await send(server.port, requests, requestCount);
      control("--dump", server.pid);
      const file = readdirSync(own).find((name) => name.startsWith(`counts.${round}`));
      rounds.push(Number(/^totals: (\d+)/m.exec(readFileSync(join(own, file), "utf8"))[1]) / requestCount);
    }
    return rounds;
  } finally {
    await server.stop();
  }
}

function control(command, pid) {
  execFileSync("callgrind_control", [command, String(pid)], { stdio: "pipe" });
}

/** Sends so many requests on several connections, each after the response to the one before. */
async function send(port, requests, count) {
  let sentCount = 0;
  const client = () => new Promise((done, fail) => {
    const socket = connect(port, "127.0.0.1");
    let received = "";
    const next = () => {
      if (sentCount === count) {
        socket.end();
        done();
        return;
      }
      socket.write(requests[sentCount % requests.length].replace("{unique}", randomUUID()));
      sentCount += 1;
    };
    socket.setEncoding("latin1").once("connect", next).once("error", fail).on("data", (chunk) => {
      received += chunk;
      const headLength = received.indexOf("\r\n\r\n") + 4;
      const contentLength = /^content-length: (\d+)\r$/im.exec(received.slice(0, headLength))?.[1];
      if (headLength > 3 && received.length >= headLength + Number(contentLength)) {
        received = "";
        next();
      }
    });
  });
  await Promise.all(Array.from({ length: connectionCount }, client));
}

/** @param {readonly number[]} rounds */
function shown(rounds) {
  return rounds.map((count) => Math.round(count).toLocaleString("en")).join(" ");
}
