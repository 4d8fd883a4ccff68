/**
 * The program with an output that cannot be written: the reader is gone, the disk is full, or a pipe is full and
 * nobody reads it. Diagnostics are lost then; the service, its exit code and its files are not.
 */

import assert from "node:assert/strict";
import { execFileSync, spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";

import { programPath, run, type RunningProgram, start, startProcess } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Makes the server write to standard error from the first request on, and change a limit that has to be saved. */
async function request({ url, firstKey }: RunningProgram): Promise<number> {
  const headers = { authorization: `Bearer ${firstKey}`, "x-forwarded-for": "192.0.2.1" };
  return (await fetch(`${url}/pets`, { headers })).status;
}

async function assertServesAndStops(program: RunningProgram, data: string): Promise<void> {
  assert.deepEqual([await request(program), await request(program)], [200, 200]);
  assert.equal(await program.stop(), 0);
  assert.match(readFileSync(join(data, "limits.json"), "utf8"), /key_/);
}

/** The write end of a full pipe without a reader. */
function fullPipe(context: TestContext): number {
  const path = join(temporaryFolder(context), "pipe");
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const filler = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  context.after(() => [reader, filler, writer].forEach((descriptor) => closeSync(descriptor)));
  const fill = (): void => void writeSync(filler, Buffer.alloc(4_096));
  assert.throws(() => {
    for (;;) {
      fill();
    }
  }, /EAGAIN/);
  return writer;
}

/** Of the program as built, in quotes. */
function moduleName(path: string): string {
  return JSON.stringify(new URL(path, pathToFileURL(programPath)).href);
}

/** The message that the script sends from a process whose standard output and error are the descriptor. */
async function sentBy(script: string, descriptor: number): Promise<unknown> {
  const args = ["--input-type=module", "-e", script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", descriptor, descriptor, "ipc"] });
  const [message] = (await once(child, "message")) as [unknown];
  return message;
}

test("a server whose output has no reader serves, and exits 0 on SIGTERM with everything saved", async (context) => {
  const data = temporaryFolder(context);
  const program = await start(context, ["--data", data, "--log", "requests"]);
  program.process.stderr?.destroy();
  program.process.stdout?.destroy();
  await assertServesAndStops(program, data);
});

for (const log of ["lifecycle", "requests"]) {
  test(`a server with --log ${log} whose output is on a full disk serves, and exits 0 on SIGTERM`, async (context) => {
    const data = temporaryFolder(context);
    const full = openSync("/dev/full", "w");
    context.after(() => closeSync(full));
    await assertServesAndStops(await start(context, ["--data", data, "--log", log], { stderr: full }), data);
  });

  test(`a server with --log ${log} whose log reader has stalled serves, and exits 0 on SIGTERM`, async (context) => {
    const data = temporaryFolder(context);
    await assertServesAndStops(await start(context, ["--data", data, "--log", log], { stderr: fullPipe(context) }), data);
  });
}

test("1 MiB of lines waits for a stalled reader of standard error, and any number for one of standard output", async (context) => {
  const script = `
    import { processTerminal } from ${moduleName("cli/terminal.js")};
    const { stdout, stderr, finishStdout, finishStderr } = processTerminal();
    const [error, output] = [[stderr, finishStderr], [stdout, finishStdout]];
    const outcomes = [];
    for (const [[write, finish], bytes] of [[error, 1_048_576], [error, 1], [output, 1_048_576], [output, 1]]) {
      write("x".repeat(bytes));
      outcomes.push((await finish(0))?.message ?? "kept");
    }
    process.send(outcomes, () => process.exit());`;
  assert.deepEqual(await sentBy(script, fullPipe(context)), ["kept", "its reader has stalled", "kept", "kept"]);
});

test("1 MiB of reports waits for a stalled reader of an embedder's standard error", async (context) => {
  const script = `
    import { checkOptions } from ${moduleName("options.js")};
    const { report } = checkOptions({ dataDir: "data" });
    const waiting = [1_000_000, 100_000, 1].map((bytes) => {
      report("x".repeat(bytes));
      return process.stderr.writableLength;
    });
    process.send(waiting, () => process.exit());`;
  const lineBytes = "animal-store: \n".length;
  const waiting = [1_000_000 + lineBytes, 1_100_000 + 2 * lineBytes];
  assert.deepEqual(await sentBy(script, fullPipe(context)), [...waiting, waiting[1]]);
});

test("a server whose standard output nobody reads serves, and exits 0 on SIGTERM", { timeout: 20_000 }, async (context) => {
  const args = [programPath, "--port", "0", "--metrics-port", "0", "--data", temporaryFolder(context)];
  const stdio: StdioOptions = ["ignore", fullPipe(context), "pipe"];
  // Its other address is on standard output.
  const program = await startProcess(context, process.execPath, args, /^metrics on (\S+)$/m, { stdio });
  assert.equal((await fetch(program.ready)).status, 200);
  assert.equal(await program.stop(), 0);
});

test("keys create exits 1 with a message if the key cannot be printed", async (context) => {
  const full = openSync("/dev/full", "w");
  context.after(() => closeSync(full));
  const { code, stderr } = await run(["keys", "create", "--data", temporaryFolder(context)], { stdout: full });
  assert.equal(code, 1);
  assert.match(stderr, /^made key_\w+ in .*; .*\nCannot write to standard output: ENOSPC.*; what the command changed stays changed\n$/);
});

for (const [name, stdio] of [["on a full disk", "full"], ["without a reader", "pipe"]] as const) {
  test(`a program that embeds the service outlives warnings to a standard error ${name}`, async (context) => {
    const data = temporaryFolder(context);
    writeFileSync(join(data, "limits.json"), "{}\n"); // Damaged: opening the service reports it.
    const full = openSync("/dev/full", "w");
    context.after(() => closeSync(full));
    const script = `
      process.stdin.resume().once("end", async () => {
        const { openAnimalStore } = await import(${moduleName("index.js")});
        const service = await openAnimalStore({ dataDir: ${JSON.stringify(data)} });
        setTimeout(() => service.close(), 50);
      });`;
    const stderr = stdio === "full" ? full : stdio;
    const child = spawn(process.execPath, ["-e", script], { stdio: ["pipe", "ignore", stderr] });
    const ended = once(child, "exit");
    child.stderr?.destroy();
    child.stdin?.end();
    assert.deepEqual(await ended, [0, null]);
  });
}
