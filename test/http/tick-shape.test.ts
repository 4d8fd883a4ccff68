/**
 * V8 tells of each hidden class that it makes in its log; so each test looks at a process of its own.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

/** A program that is busy, then idle while everything is collected, then busy again. */
function programWith(first: string, last: string): string {
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
    await beBusy();
    ${last}`;
}

/** How often the hidden class of the objects behind `process.nextTick` is made. */
async function countTickShapes(context: TestContext, first: string, last = ""): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "animal-store-ticks-"));
  context.after(() => rm(folder, { recursive: true }));
  const log = join(folder, "v8.log");
  const flags = ["--expose-gc", "--log-maps", "--no-logfile-per-isolate", `--logfile=${log}`];
  const program = programWith(first.replace("FOLDER", JSON.stringify(join(folder, "data"))), last);
  const child = spawn(process.execPath, [...flags, "--input-type=module", "--eval", program], { stdio: "inherit" });
  assert.deepEqual(await once(child, "close"), [0, null]);
  const lines = (await readFile(log, "latin1")).split("\n");
  return lines.filter((line) => /^map,Transition,.*symbol\("trigger_async_id_symbol"/.test(line)).length;
}

test("an opened service keeps process.nextTick quick when its process is idle and collected", async (context) => {
  const index = new URL("../../src/index.js", import.meta.url).href;
  const first = `
    import { openAnimalStore } from ${JSON.stringify(index)};
    const service = await openAnimalStore({ dataDir: FOLDER, report: () => undefined });`;
  assert.equal(await countTickShapes(context, first, "await service.close();"), 1);
});

test("without it Node still forgets the shape of a tick, and tick-shape.ts is still needed", async (context) => {
  assert.equal(await countTickShapes(context, ""), 2, "this Node keeps the shape by itself: tick-shape.ts may go");
});
