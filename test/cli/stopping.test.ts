/**
 * Signals: twice, during the start, and through npm.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { run } from "../../src/cli/run.ts";
import { serve } from "../../src/cli/serve.ts";
import { nodeDisk } from "../../src/disk/node-disk.ts";
import { passTime } from "../support/mock-timers.ts";
import { programPath, start, startProcess } from "../support/program.ts";
import { root } from "../support/root.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { recordingTerminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";
import { request, Wire } from "../support/wire.ts";

const listening = /^listening on (http:\/\/\S+)/m;

test("a server that receives SIGINT twice exits 0 and saves the limits", async (context) => {
  const data = temporaryFolder(context);
  const program = await start(context, ["--data", data]);
  await fetch(`${program.url}/pets`, { headers: { authorization: `Bearer ${program.firstKey}` } });
  program.process.kill("SIGINT");
  assert.equal(await program.stop("SIGINT"), 0);
  assert.ok(existsSync(join(data, "limits.json")));
  assert.ok(!existsSync(join(data, "server.lock")));
});

const started = "console.log(process.version)";
const noTerminal = spawnSync("script", ["-qfc", `"${process.execPath}" -e "${started}"`, "/dev/null"]).stdout?.includes(process.version)
  ? false
  : "needs script of util-linux, which makes a terminal";
test("a terminal that is closed stops the server in order, with exit code 0", { skip: noTerminal, timeout: 20_000 }, async (context) => {
  const data = temporaryFolder(context);
  const status = join(temporaryFolder(context), "status");
  const program = `"${process.execPath}" "${programPath}" --port 0 --data "${data}" < /dev/tty`;
  // The shell gets the signal, passes it on, and says how the program has ended.
  const command = `${program} & trap "kill -HUP $!" HUP; wait $!; wait $!; echo $? > "${status}"`;
  const terminal = await startProcess(context, "script", ["-qfc", command, "/dev/null"], listening);
  const key = /as_\w+/.exec(terminal.output().stdout)?.[0] ?? "";
  const wire = await Wire.open(Number(new URL(terminal.ready).port));
  const fields = ["Content-Type: application/json", "Content-Length: 29", "Expect: 100-continue"];
  wire.send(request({ method: "POST", key, fields }));
  assert.equal((await wire.response()).status, 100);
  terminal.process.kill("SIGKILL"); // Its end of the terminal is closed.
  await until("nothing more is accepted", () => fetch(terminal.ready).then(() => false, () => true));
  wire.send('{"name":"Rex","categoryId":1}');
  assert.equal((await wire.response()).status, 201, "the request under way is finished");
  await until("it has ended", () => existsSync(status) && readFileSync(status, "utf8") !== "");
  assert.ok(!existsSync(join(data, "server.lock")));
  assert.equal(readFileSync(status, "utf8"), "0\n");
});

test("SIGHUP changes nothing without a terminal, and one line says so", async (context) => {
  for (const log of ["lifecycle", "off"]) {
    const program = await start(context, ["--data", temporaryFolder(context), "--log", log]);
    program.process.kill("SIGHUP");
    if (log === "lifecycle") {
      await until("it is reported", () => /^SIGHUP .*\n$/.test(program.output().stderr));
    }
    assert.equal((await fetch(new URL("/healthz", program.url))).status, 200);
    assert.equal(await program.stop(), 0);
    assert.equal(program.output().stderr.includes("SIGHUP"), log === "lifecycle");
  }
});

test("SIGUSR1 does not open the debugger of Node", async (context) => {
  const program = await start(context, ["--data", temporaryFolder(context)]);
  program.process.kill("SIGUSR1");
  assert.equal((await fetch(new URL("/healthz", program.url))).status, 200);
  assert.equal(await program.stop(), 0);
  assert.doesNotMatch(program.output().stderr, /debugger/i);
});

test("a signal that arrives while the server is being loaded stops it with exit code 0", async (context) => {
  const terminal = recordingTerminal();
  const stopping = new AbortController();
  const signals: AbortSignal[] = [];
  const running = run(["--data", temporaryFolder(context)], terminal, () => {
    signals.push(stopping.signal);
    return stopping.signal;
  });
  const askedCount = signals.length;
  stopping.abort();
  assert.equal(await running, 0);
  assert.equal(askedCount, 1, "it listens to signals before it waits for anything");
  assert.deepEqual(terminal.output(), { stdout: "", stderr: "" });
});

test("serve() that is stopped during the start prints nothing, makes no key, and releases the folder", async (context) => {
  for (const step of ["makeFolder", "openToAppend", "syncFolder"] as const) {
    const data = temporaryFolder(context);
    const stopping = new AbortController();
    const original = nodeDisk[step] as (path: string) => Promise<never>;
    const mocked = context.mock.method(nodeDisk, step, (path: string) => {
      stopping.abort();
      return original(path);
    });
    const terminal = recordingTerminal();
    await serve(["--port", "0", "--data", data], terminal, stopping.signal);
    mocked.mock.restore();
    assert.deepEqual(terminal.output(), { stdout: "", stderr: "" }, step);
    assert.ok(!existsSync(join(data, "keys.jsonl")) && !existsSync(join(data, "server.lock")), step);
  }
});

test("serve() that is stopped while it loads the animals reads no more of them", async (context) => {
  const data = temporaryFolder(context);
  writeFileSync(join(data, "pets.jsonl"), "damaged\n"); // It would be reported, and set aside.
  const stopping = new AbortController();
  const { openToAppend } = nodeDisk;
  context.mock.method(nodeDisk, "openToAppend", (path: string) => {
    if (path.endsWith("pets.jsonl")) {
      stopping.abort();
    }
    return openToAppend(path);
  });
  const terminal = recordingTerminal();
  await serve(["--port", "0", "--data", data], terminal, stopping.signal);
  assert.ok(stopping.signal.aborted);
  assert.deepEqual(terminal.output(), { stdout: "", stderr: "" });
  assert.equal(readFileSync(join(data, "pets.jsonl"), "utf8"), "damaged\n");
});

test("a request that is cut off at the end of a stop has its line in the log", { timeout: 20_000 }, async (context) => {
  const terminal = recordingTerminal();
  const stopping = new AbortController();
  const served = serve(["--port", "0", "--data", temporaryFolder(context), "--log", "requests"], terminal, stopping.signal);
  const { port } = new URL(await until("the server listens", () => listening.exec(terminal.output().stdout)?.[1]) ?? "");
  const key = /as_\w+/.exec(terminal.output().stdout)?.[0] ?? "";
  const wire = await Wire.open(Number(port));
  const fields = ["Content-Type: application/json", "Content-Length: 9", "Expect: 100-continue"];
  wire.send(request({ method: "POST", key, fields }));
  assert.equal((await wire.response()).status, 100);

  await passTime(context, () => {
    stopping.abort();
    return served;
  });
  assert.match(terminal.output().stderr, /^\{.*"method":"POST","route":"\/pets","status":0,.*\}$/m);
  assert.match(terminal.output().stderr, /"stopped"\}\n$/);
});

test("a stop that fails says why, and exits 1", async (context) => {
  const { openToAppend } = nodeDisk;
  context.mock.method(nodeDisk, "openToAppend", async (path: string) => {
    const file = await openToAppend(path);
    const close = file.close.bind(file);
    const fail = (): never => assert.fail("EIO: i/o error, close");
    return path.endsWith("pets.jsonl") ? Object.assign(file, { close: () => close().then(fail) }) : file;
  });
  const stopping = new AbortController();
  const terminal = recordingTerminal({ PORT: "0", ANIMAL_STORE_DATA: temporaryFolder(context) });
  const stdout = (lines: string): void => (lines.startsWith("listening on") ? stopping.abort() : undefined);
  assert.equal(await run([], { ...terminal, stdout }, () => stopping.signal), 1);
  assert.match(terminal.output().stderr, /\nEIO: i\/o error, close\n$/);
});

for (const [shell, signal, isToGroup] of [["/bin/bash", "SIGINT", true], ["/bin/sh", "SIGTERM", false]] as const) {
  const skip = existsSync(shell) ? false : `${shell} is not installed`;
  const target = isToGroup ? "all processes, as Ctrl-C does" : "npm alone";
  test(`npm start with ${shell} stops the server in order when ${signal} is sent to ${target}`, { skip }, async (context) => {
    // A copy without the build step, which is not what is tested here.
    const folder = temporaryFolder(context);
    const { scripts, ...others } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ ...others, scripts: { start: scripts.start } }));
    symlinkSync(join(root, "dist"), join(folder, "dist"));
    const args = ["start", "--silent", `--script-shell=${shell}`, "--", "--port", "0", "--data", join(folder, "data")];
    const { process: child, ready, ended } = await startProcess(context, "npm", args, listening, { cwd: folder, detached: true });
    process.kill(isToGroup ? -child.pid! : child.pid!, signal); // It was spawned, so it has an id.
    await ended;
    await assert.rejects(fetch(`${ready}/pets`), "the server is gone");
    assert.ok(!existsSync(join(folder, "data", "server.lock")), "it stopped in order");
  });
}

const inNamespace = ["unshare", "--pid", "--fork", "--mount-proc"];
const hasNamespaces = spawnSync("sh", ["-c", `${inNamespace.join(" ")} true`]).status === 0;
const skip = hasNamespaces ? false : "needs unshare and the right to make a process namespace";
test("a second signal ends the server also if it is the first process of a container", { skip }, async (context) => {
  const program = await start(context, ["--data", temporaryFolder(context)], { wrapper: inNamespace });
  await Wire.open(Number(new URL(program.url).port)).then((wire) => wire.send("GET /v1/pets HT")); // The stop waits for it.
  const signals = setInterval(() => void program.stop(), 100);
  context.after(() => clearInterval(signals));
  assert.equal((await program.ended).code, 1, "the end of a whole stop would be 0");
});
