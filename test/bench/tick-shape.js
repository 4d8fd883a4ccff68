/**
 * Shows why src/http/tick-shape.ts exists: how often V8 makes the hidden class of the objects behind process.nextTick,
 * with and without it, in a process that is busy, then idle while everything is collected, then busy again.
 *
 *     npm run build && node test/bench/tick-shape.js
 *
 * 1 with it, 2 without: after the second one every tick is slow. If both are 1, this version of Node does not need it.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findBuild, ownBuild } from "./options.js";

const module = pathToFileURL(join(findBuild(ownBuild), "http/tick-shape.js")).href;

/** @param {string} first runs before the process is busy */
function program(first) {
  return `
    ${first}
    const collect = (done) => setImmediate(() => { gc(); done(); });
    const beBusy = async () => {
      for (let turn = 0; turn < 50; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        for (let count = 0; count < 20; count += 1) process.nextTick(() => undefined);
      }
    };
    await beBusy();
    for (let count = 0; count < 3; count += 1) await new Promise(collect);
    await beBusy();`;
}

/** @param {string} first */
function countShapes(first) {
  const folder = mkdtempSync(join(tmpdir(), "animal-store-ticks-"));
  try {
    const log = join(folder, "v8.log");
    const flags = ["--expose-gc", "--log-maps", "--no-logfile-per-isolate", `--logfile=${log}`];
    execFileSync(process.execPath, [...flags, "--input-type=module", "--eval", program(first)], { stdio: "inherit" });
    const lines = readFileSync(log, "latin1").split("\n");
    return lines.filter((line) => /^map,Transition,.*symbol\("trigger_async_id_symbol"/.test(line)).length;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

console.log(`Node ${process.version}`);
console.log(`with tick-shape.ts: ${countShapes(`import { keepTickShape } from "${module}"; keepTickShape();`)}`);
console.log(`without: ${countShapes("")}`);
