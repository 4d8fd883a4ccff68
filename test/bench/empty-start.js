/**
 * Measures how long an empty start and short commands take, beside the least that Node itself needs: a script that
 * prints a line, and a `node:http` server that listens. All are run in turn, so that other work of the machine affects
 * all of them. Prints Markdown.
 *
 *     node test/bench/empty-start.js [--rounds 30] [--dist dist]
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findBuild, inFolder, ownBuild, readCount, readFlags } from "./options.js";
import { table } from "./report.js";
import { median } from "./rounds.js";

const { values } = readFlags("node test/bench/empty-start.js [--rounds N] [--dist DIR]", {
  rounds: { type: "string", default: "30" },
  dist: { type: "string", default: ownBuild },
});
const rounds = readCount("rounds", values.rounds);
const program = join(findBuild(values.dist), "server.js");

const line = 'console.log("listening");\n';
const server = `import { createServer } from "node:http";
const server = createServer((request, response) => response.end());
server.listen(0, "127.0.0.1", () => console.log("listening"));
`;

await inFolder(async (folder) => {
  const bare = join(folder, "bare.mjs");
  writeFileSync(bare, line);
  const bareServer = join(folder, "bare-server.mjs");
  writeFileSync(bareServer, server);
  const used = mkdtempSync(join(folder, "used-"));
  await msUntil("end", [program, "keys", "create", "--data", used]);
  const list = [program, "keys", "list", "--data", used];
  const ways = [
    { name: "bare script", run: () => msUntil("end", [bare]) },
    { name: "`--version`", run: () => msUntil("end", [program, "--version"]), goal: 1.3 },
    { name: "`--help`", run: () => msUntil("end", [program, "--help"]), goal: 1.3 },
    { name: "`keys list`", run: () => msUntil("end", list), goal: 1.3 },
    { name: "bare `node:http` server", run: () => msUntil("listening", [bareServer]) },
    { name: "empty start", run: () => msUntil("listening", emptyStart(folder)) },
  ];
  const results = ways.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, { run }] of ways.entries()) results[index].push(await run());
  }
  const rows = ways.map(({ name, goal }, index) => {
    const bareResults = results[name === "empty start" ? 4 : 0];
    const ratio = median(results[index].map((ms, round) => ms / bareResults[round])).toFixed(2);
    const times = goal === undefined ? ratio : `${ratio} (goal ${goal})`;
    return [name, median(results[index]).toFixed(0), name.startsWith("bare") ? "" : times];
  });
  console.log(`Starting, medians of ${rounds} rounds, Node ${process.versions.node}\n`);
  console.log(table(["what starts", "ms", "times the bare one"], rows));
});

function emptyStart(parent) {
  return [program, "--port", "0", "--data", mkdtempSync(join(parent, "empty-"))];
}

/** How long until the program prints the text, or until it ends. It is then killed. */
async function msUntil(text, args) {
  const start = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close");
  let output = "";
  let errors = "";
  let ms;
  child.stdout.on("data", (chunk) => {
    output += chunk;
    if (ms === undefined && output.includes(text)) {
      ms = performance.now() - start;
      child.kill("SIGKILL");
    }
  });
  child.stderr.on("data", (chunk) => (errors += chunk));
  const [code] = await ended;
  if (text === "end" && code === 0) return performance.now() - start;
  if (ms === undefined) throw new Error(`Cannot run ${args.join(" ")}: it ended with ${code}\n${errors}`);
  return ms;
}
