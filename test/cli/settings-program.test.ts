/**
 * Settings as an operator meets them: one line on standard error, exit code 2, before anything listens (contract,
 * section 1).
 */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { run, start } from "../support/program.ts";

function temporaryFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "animal-store-settings-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function assertRefused(args: readonly string[], environment: NodeJS.ProcessEnv, says: RegExp): Promise<void> {
  const { code, stdout, stderr } = await run(args, environment);
  assert.deepEqual([code, stdout], [2, ""], stderr);
  assert.match(stderr, /^[^\n]*\n$/);
  assert.match(stderr, says);
}

test("a bad value stops the start, named as the flag or the variable that it came from", async () => {
  await Promise.all([
    assertRefused(["--port", "http"], {}, /^Cannot use --port http: must be an integer/),
    assertRefused([], { PORT: "http" }, /^Cannot use PORT=http: must be an integer/),
    assertRefused(["--log", "a\nb"], {}, /^Cannot use --log a b: must be/),
    assertRefused(["--colour"], {}, /^Cannot use --colour: unknown flag/),
    assertRefused(["serve"], {}, /^Cannot use "serve": no such command/),
  ]);
});

test("a folder that cannot be written stops the start", async () => {
  await assertRefused(["--data", "/dev/null/data"], {}, /^Cannot use --data \/dev\/null\/data: /);
  await assertRefused([], { ANIMAL_STORE_DATA: "/dev/null/x" }, /^Cannot use ANIMAL_STORE_DATA=\/dev\/null\/x: /);
  // There, but not for us to write into: whoever one is.
  const folder = process.getuid?.() === 0 ? "/proc" : "/";
  await assertRefused(["--data", folder], {}, new RegExp(`^Cannot use --data ${folder}: .*(EACCES|ENOENT|EPERM|EROFS)`));
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
  const host = [...common, "--port", "0", "--host", "192.0.2.1"];
  await assertRefused(host, {}, /Cannot use --host 192\.0\.2\.1: .*EADDRNOTAVAIL/);
  const program = await start(common);
  assert.equal(await program.stop(), 0);
});

test("--help and --version work everywhere, do nothing else, and exit 0", async (context) => {
  const folder = temporaryFolder(context);
  const places = [[], ["check"], ["import"], ["keys"], ["keys", "create"], ["import", "nothing.jsonl"], ["--port", "bad"]];
  await Promise.all(places.map(async (place) => {
    const help = await run([...place, "--help", "--data", folder]);
    assert.deepEqual([help.code, help.stderr], [0, ""], place.join(" "));
    assert.match(help.stdout, /^Usage: |animal-store/);
    const version = await run([...place, "--version"]);
    assert.deepEqual(version, { code: 0, stdout: "1.0.0\n", stderr: "" });
  }));
  assert.deepEqual(readdirSync(folder), []);
  assert.match((await run(["--help"])).stdout, /--trust-proxy COUNT .*\n.*ANIMAL_STORE_TRUST_PROXY/);
  assert.match((await run(["keys", "create", "--help"])).stdout, /--per-minute/);
});

test("a host beyond loopback without an https base address is warned of: keys travel in clear", async (context) => {
  for (const [args, isWarned] of [
    [["--host", "0.0.0.0"], true],
    [["--host", "0.0.0.0", "--base-url", "http://example.com/v1"], true],
    [["--host", "0.0.0.0", "--base-url", "https://example.com/v1"], false],
    [[], false],
  ] as const) {
    const program = await start(["--data", temporaryFolder(context), ...args]);
    assert.equal(program.output().stderr.includes("keys travel in clear"), isWarned, args.join(" "));
    assert.equal(await program.stop(), 0);
  }
});

test("the API is mounted below the path of the base address, and links begin with it", async (context) => {
  const base = "https://shop.example/store/v1";
  const program = await start(["--data", temporaryFolder(context), "--base-url", `${base}/`]);
  assert.match(program.url, /^http:\/\/127\.0\.0\.1:\d+\/store\/v1$/);
  const response = await fetch(`${program.url}/pets`, {
    method: "POST",
    headers: { authorization: `Bearer ${program.firstKey}` },
    body: '{"name":"Rex","categoryId":5}',
  });
  assert.deepEqual([response.status, response.headers.get("location")], [415, null], "fetch says text/plain");
  const created = await fetch(`${program.url}/pets`, {
    method: "POST",
    headers: { authorization: `Bearer ${program.firstKey}`, "content-type": "application/json" },
    body: '{"name":"Rex","categoryId":5}',
  });
  assert.equal(created.headers.get("location"), `${base}/pets/1`);
  assert.equal(await program.stop(), 0);
});
