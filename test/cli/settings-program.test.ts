/**
 * Settings as an operator meets them: a wrong one is one line on standard error and exit code 2, before anything
 * listens.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { run } from "../../src/cli/run.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { hasIpv6Loopback } from "../support/ipv6.ts";
import { type Ran, run as runProgram, start as startProgram } from "../support/program.ts";
import { root } from "../support/root.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type RecordingTerminal, recordingTerminal, runHere } from "../support/terminal.ts";
import { until } from "../support/until.ts";
import { exchange, request } from "../support/wire.ts";

interface Serving extends Pick<RecordingTerminal, "output"> {
  /** Of the API, as the program printed it. */
  readonly url: string;
  stop(): Promise<number>;
}

/** Starts the server in this process, and stops it once it listens. */
async function startAndStop(args: readonly string[], overrides: Partial<Terminal> = {}): Promise<Omit<Ran, "code">> {
  const stopping = new AbortController();
  const terminal = recordingTerminal();
  const stdout = (lines: string): void => (lines.startsWith("listening on") ? stopping.abort() : terminal.stdout(lines));
  assert.equal(await run(["--port", "0", ...args], { ...terminal, stdout, ...overrides }, () => stopping.signal), 0);
  return terminal.output();
}

/** Starts the server in this process. It is stopped with the test, if not before. */
async function start(context: TestContext, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Serving> {
  const stopping = new AbortController();
  const terminal = recordingTerminal(environment);
  const ended = run(["--port", "0", ...args], terminal, () => stopping.signal);
  const stop = (): Promise<number> => {
    stopping.abort();
    return ended;
  };
  context.after(stop);
  const url = await until("it listens", () => /^listening on (\S+)/m.exec(terminal.output().stdout)?.[1]) ?? "";
  return { url, output: terminal.output, stop };
}

/** A server that starts after all is stopped, so that the test fails instead of waiting for ever. */
async function assertRefused(args: readonly string[], environment: NodeJS.ProcessEnv, says: RegExp): Promise<void> {
  const terminal = recordingTerminal(environment);
  const code = await run(args, terminal, () => AbortSignal.timeout(10_000));
  const { stdout, stderr } = terminal.output();
  assert.deepEqual([code, stdout], [2, ""], stderr);
  assert.match(stderr, /^[^\n]*\n$/);
  assert.match(stderr, says);
}

test("a folder that cannot be written stops the start", async () => {
  await assertRefused(["--data", "/dev/null/data"], {}, /^Cannot use --data \/dev\/null\/data: /);
  await assertRefused([], { ANIMAL_STORE_DATA: "/dev/null/x" }, /^Cannot use ANIMAL_STORE_DATA=\/dev\/null\/x: /);
  // It exists, and this user cannot write to it.
  const folder = process.getuid?.() === 0 ? "/proc" : "/";
  const reason = "(user \\w+ is refused /|.*(EACCES|ENOENT|EPERM|EROFS))";
  await assertRefused(["--data", folder], {}, new RegExp(`^Cannot use --data ${folder}: ${reason}`));
});

test("a taken port, the metrics' too, and a host of another machine stop the start and leave the folder free", async (context) => {
  const data = temporaryFolder(context);
  const taken = createServer().listen(0, "127.0.0.1");
  context.after(() => taken.close());
  await new Promise((resolve) => taken.once("listening", resolve));
  const address = taken.address();
  const port = String(typeof address === "object" ? address?.port : "");
  const common = ["--data", data];
  await assertRefused([...common, "--port", port], {}, new RegExp(`^Cannot use --port ${port}: .*EADDRINUSE`));
  await assertRefused(common, { PORT: port }, new RegExp(`^Cannot use PORT=${port}: .*EADDRINUSE`));
  const metrics = [...common, "--port", "0", "--metrics-port", port];
  await assertRefused(metrics, {}, new RegExp(`Cannot use --metrics-port ${port}: .*EADDRINUSE`));
  const both = [...common, "--port", port, "--metrics-port", "0"];
  await assertRefused(both, {}, new RegExp(`^Cannot use --port ${port}: .*EADDRINUSE`));
  const host = [...common, "--port", "0", "--host", "192.0.2.1"];
  await assertRefused(host, {}, /Cannot use --host 192\.0\.2\.1: .*EADDRNOTAVAIL/);
  const lacksZone = [...common, "--port", "0", "--host", "fe80::1"];
  await assertRefused(lacksZone, {}, /Cannot use --host fe80::1: .*E(INVAL|ADDRNOTAVAIL|AFNOSUPPORT)/);
  const program = await start(context, common);
  assert.equal(await program.stop(), 0);
});

test("the start says what it serves: where, whether it was made just now, how many animals, keys and active ones", async (context) => {
  const data = temporaryFolder(context);
  const first = await start(context, ["--data", data]);
  assert.match(first.output().stdout, new RegExp(`^listening on \\S+ \\(folder ${data}, made just now, 0 animals, 1 key\\)$`, "m"));
  const key = /^ {2}(as_\w{43})$/m.exec(first.output().stdout)?.[1];
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ name: "Rex", categoryId: 1 });
  assert.equal((await fetch(`${first.url}/pets`, { method: "POST", headers, body })).status, 201);
  assert.equal(await first.stop(), 0);
  await runHere(["keys", "create", "--data", data]);
  const revoked = /key_\w{15}/.exec((await runHere(["keys", "create", "--data", data])).stderr)?.[0] ?? "";
  await runHere(["keys", "revoke", revoked, "--data", data]);
  const second = await start(context, ["--data", data]);
  assert.match(second.output().stdout, new RegExp(`^listening on \\S+ \\(folder ${data}, 1 animal, 3 keys, 2 of them active\\)$`, "m"));
  assert.equal(await second.stop(), 0);
  rmSync(join(data, "keys.jsonl")); // As after a salvage that has left it out.
  const third = await start(context, ["--data", data]);
  assert.match(third.output().stdout, new RegExp(`^listening on \\S+ \\(folder ${data}, 1 animal, 1 key\\)$`, "m"));
  assert.equal(await third.stop(), 0);
});

test("a variable ANIMAL_STORE_* that is no setting gets a warning that names it", async (context) => {
  const data = temporaryFolder(context);
  const environment = { ANIMAL_STORE_TRUSTPROXY: "1", ANIMAL_STORE_PORT: "1" };
  const warnings =
    "warning: the variable ANIMAL_STORE_TRUSTPROXY is not a setting; --help lists all settings\n" +
    "warning: the variable ANIMAL_STORE_PORT is not a setting; --help lists all settings\n";
  const { stderr } = await startAndStop(["--data", data], { environment });
  assert.ok(stderr.startsWith(warnings), stderr);
  assert.ok((await runHere(["check", "--data", data], environment)).stdout.startsWith(warnings));
});

test("with --log requests every line on standard error is one JSON object with time, level and message", async (context) => {
  const data = temporaryFolder(context);
  const environment = { ANIMAL_STORE_LGO: "off" };
  const { stderr } = await startAndStop(["--data", data, "--log", "requests"], { environment });
  const lines = stderr.trimEnd().split("\n").map((line) => JSON.parse(line) as Record<string, string>);
  assert.deepEqual(lines.map(({ level }) => level), ["warning", "info", "info"]);
  assert.match(lines[0]?.["message"] ?? "", /^the variable ANIMAL_STORE_LGO/);
  assert.ok(lines.every(({ time = "" }) => new Date(time).toISOString() === time));
  const refused = await runHere(["--data", data, "--port", "http"], { ANIMAL_STORE_LOG: "requests" });
  const { level, message } = JSON.parse(refused.stderr) as Record<string, string>;
  assert.deepEqual([refused.code, level], [2, "error"]);
  assert.match(message ?? "", /^Cannot use --port http/);
});

test("a warning of Node's own, or of a package, is a line of the log like the others", async (context) => {
  const data = temporaryFolder(context);
  const preload = join(data, "warn.cjs");
  writeFileSync(preload, 'process.on("SIGUSR2", () => process.emitWarning("in several\\nlines", "OwnWarning"));');
  const env = { NODE_OPTIONS: `--require ${preload}` };
  for (const [log, expected] of [["requests", 1], ["lifecycle", 1], ["off", 0]] as const) {
    const program = await startProgram(context, ["--data", join(data, log), "--log", log], { env });
    const warned = (): number => program.output().stderr.split("OwnWarning: in several lines").length - 1;
    program.process.kill("SIGUSR2");
    await until("the warning", () => expected === 0 || warned() === expected);
    await program.stop();
    const { stderr } = program.output();
    assert.equal(warned(), expected, stderr);
    assert.doesNotMatch(stderr, /\(node:/);
    if (log === "requests") {
      stderr.trimEnd().split("\n").forEach((line) => JSON.parse(line));
    }
  }
});

test("version, -v, and help before a command are what people try first, and work", async () => {
  for (const name of ["version", "-v"]) {
    assert.deepEqual(await runHere([name]), await runHere(["--version"]));
  }
  for (const place of [[], ["keys"], ["keys", "create"], ["import"]]) {
    assert.deepEqual(await runHere(["help", ...place]), await runHere([...place, "--help"]));
  }
});

test("--help and --version work everywhere, do nothing else, and exit 0", async (context) => {
  const folder = temporaryFolder(context);
  const wrong = [["--port", "bad"], ["constructor"], ["__proto__"]];
  const places = [...wrong, [], ["check"], ["import"], ["keys"], ["keys", "create"], ["import", "nothing.jsonl"]];
  for (const place of places) {
    const help = await runHere([...place, "--help", "--data", folder]);
    assert.deepEqual([help.code, help.stderr], [0, ""], place.join(" "));
    assert.match(help.stdout, /^Usage: animal-store .*\n/);
    assert.match(help.stdout, /--data FOLDER/);
    assert.deepEqual(await runHere([...place, "-h"]), help);
    assert.deepEqual(await runHere([...place, "--version"]), { code: 0, stdout: "4.0.0\n", stderr: "" });
  }
  assert.deepEqual(readdirSync(folder), []);
  assert.match((await runHere(["--help"])).stdout, /--trust-proxy COUNT .*\n.*ANIMAL_STORE_TRUST_PROXY/);
  assert.deepEqual(await runProgram(["keys", "--version"]), { code: 0, stdout: "4.0.0\n", stderr: "" });
});

test("no key that is given as an argument by mistake is printed", async (context) => {
  const key = `as_${"k".repeat(43)}`;
  const data = temporaryFolder(context);
  const flags = ["port", "host", "data", "base-url", "trust-proxy", "cors-origin", "log", "metrics-port", "plan", "grace", "label", "expires"];
  const lines: string[][] = [[key], [`--${key}`], [`--${key}=1`], ["check", key], ["import", key], ["import", key, key]];
  lines.push(["keys", key], ["keys", "list", key], ["keys", "revoke", key], ["keys", "plan", key, "--plan", "pro"]);
  for (const flag of flags) {
    for (const place of [[], ["check"], ["import", key], ["keys", "create"], ["keys", "rotate", key], ["keys", "list"]]) {
      lines.push([...place, `--${flag}`, key], [...place, `--${flag}=${key}`]);
    }
  }
  const before = process.cwd();
  process.chdir(data); // Where --data names a folder that is made.
  context.after(() => process.chdir(before));
  for (const line of lines) {
    const { stdout, stderr } = await runHere(line, { ANIMAL_STORE_DATA: data });
    const printed = stdout.replace(/^as_\w+\n$/, ""); // The key that keys create made.
    assert.ok(!`${printed}${stderr}`.includes("kkkk"), `${line.join(" ")}: ${stdout}${stderr}`);
  }
  const { stdout, stderr } = await runProgram([key]);
  assert.deepEqual([stdout, stderr], ["", 'Cannot use "as_…": no such command; see --help\n']);
  assert.equal((await runProgram(["keys", "list", "--data", `new/${key}`])).stderr, `no keys in ${data}/new/as_…\n`);
});

test("a host beyond loopback without an https base address causes a warning, and curl is told 127.0.0.1", async (context) => {
  for (const [args, isWarned] of [
    [["--host", "0.0.0.0"], true],
    [["--host", "0.0.0.0", "--base-url", "http://example.com/v1"], true],
    [["--host", "0.0.0.0", "--base-url", "HTTPS://example.com/v1"], false],
    [[], false],
    [["--host", "localhost"], false],
    ...(hasIpv6Loopback ? [[["--host", "::1"], false] as const] : []),
  ] as const) {
    const { stdout, stderr } = await startAndStop(["--data", temporaryFolder(context), ...args]);
    assert.equal(stderr.includes("keys travel unencrypted"), isWarned, args.join(" "));
    assert.match(stdout, isWarned ? /^ {2}curl .* "http:\/\/127\.0\.0\.1:/m : /^ {2}curl /m);
  }
});

test("an idle connection stays open as long as --idle-seconds says, 75 s if nothing does", async (context) => {
  for (const [seconds, args] of [[75, []], [620, ["--idle-seconds", "620"]]] as const) {
    const program = await start(context, ["--data", temporaryFolder(context), ...args]);
    const response = await exchange(Number(new URL(program.url).port), request({ target: "/healthz" }));
    assert.equal(response.value("keep-alive"), `timeout=${seconds}`);
  }
});

const skipIpv6 = hasIpv6Loopback ? false : "there is no IPv6";
test("the recipe of a container listens on IPv6 and IPv4", { skip: skipIpv6 }, async (context) => {
  const recipe = readFileSync(join(root, "src/manual/recipes/Dockerfile"), "utf8");
  const [, host = ""] = /^ENV ANIMAL_STORE_HOST=(\S+)$/m.exec(recipe) ?? [];
  const program = await start(context, ["--data", temporaryFolder(context)], { ANIMAL_STORE_HOST: host });
  const [, port] = /:(\d+)\/v1/.exec(program.url) ?? [];
  for (const address of ["[::1]", "127.0.0.1"]) {
    assert.equal((await fetch(`http://${address}:${port}/healthz`)).status, 200, address);
  }
});

test("the first key that cannot be printed is reported", async (context) => {
  const { stderr } = await startAndStop(["--data", temporaryFolder(context)], { showKey: () => false });
  assert.match(stderr, /^warning: the first key could not be printed; make another with keys create\n/);
});

test("the staging address, the CORS origin and the count of proxies reach the service", async (context) => {
  const settings = ["--staging-base-url", "https://staging.example/v1", "--cors-origin", "https://shop.example", "--trust-proxy", "1"];
  const program = await start(context, ["--data", temporaryFolder(context), ...settings]);
  const description = (await (await fetch(new URL("/openapi.json", program.url))).json()) as { servers: { url: string }[] };
  assert.equal(description.servers.at(-1)?.url, "https://staging.example/v1");
  for (const address of ["192.0.2.1", "192.0.2.2"]) {
    const response = await fetch(`${program.url}/pets`, { headers: { origin: "https://shop.example", "x-forwarded-for": address } });
    assert.equal(response.headers.get("access-control-allow-origin"), "https://shop.example");
    assert.equal(response.headers.get("x-ratelimit-remaining"), "59");
  }
  assert.equal(await program.stop(), 0);
});

const skip = process.platform === "linux" ? false : "only Linux has all addresses of 127.0.0.0/8";
test("the metrics are at /metrics of the metrics' host, 127.0.0.1 by default, and of no other address", { skip }, async (context) => {
  for (const [flags, host, other] of [
    [["--metrics-host", "127.0.0.2"], "127.0.0.2", "127.0.0.1"],
    [[], "127.0.0.1", "127.0.0.2"],
  ] as const) {
    const program = await start(context, ["--data", temporaryFolder(context), "--metrics-port", "0", ...flags]);
    await fetch(`${program.url}/pets`);
    const address = /^metrics on (http:\/\/[\d.]+:\d+\/metrics)$/m.exec(program.output().stderr)?.[1] ?? "";
    assert.equal(new URL(address).hostname, host);
    assert.match(await (await fetch(address)).text(), /^animal_store_requests_total\{/m);
    await assert.rejects(fetch(address.replace(host, other)));
    assert.equal(await program.stop(), 0);
  }
});

test("--log off writes nothing on standard error, lifecycle writes no requests, and requests writes them too", async (context) => {
  for (const [log, expected] of [
    ["off", /^$/],
    ["lifecycle", /^warning: [^{]*\nstopped\n$/],
    ["requests", /"warning"[^]*"status":401,.*\}\n[^]*"stopped"\}\n$/],
  ] as const) {
    const program = await start(context, ["--data", temporaryFolder(context), "--log", log]);
    await fetch(`${program.url}/pets`, { headers: { "x-forwarded-for": "192.0.2.1" } });
    if (log === "requests") {
      await until("the line is written", () => program.output().stderr.includes('"status":401'));
    }
    assert.equal(await program.stop(), 0);
    assert.match(program.output().stderr, expected);
  }
});
