/**
 * Disks that hang while the service runs: a file system that is frozen, as for a snapshot, calls that time out, as on a
 * network disk, and a file that never opens. Reads go on; what writes waits, and is answered when the disk goes on.
 * On a machine that cannot produce such a fault its test is skipped, and says why.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, openSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { keepPair, one } from "../support/certificates.ts";
import { newClient, type Received, wholeResponse } from "../support/client.ts";
import { hangingOpen } from "../support/hanging-open.ts";
import { createKey, type RunningProgram, run, start, startProcess } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The limits are saved, and the key file is looked at, once in that time. */
const frozenMs = 4_000;
/**
 * Bounds each read. One that waits for the disk takes a second or more. `.ci/run` runs this file alone with the bound of
 * 250 ms that is promised; beside the other files of `npm test` strace alone may take longer.
 */
const readMsMax = Number(process.env["READ_MS_MAX"] ?? 750);
const misty = { name: "Misty", categoryId: 1 };

function tool(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args).status === 0;
}

/** Reads once more after it is over. @returns how many reads there were: each was answered in time */
async function readUntil(isOver: () => boolean, get: (path: string) => Promise<Received>): Promise<number> {
  let count = 0;
  for (let isLast = false; !isLast; ) {
    isLast = isOver();
    for (const path of ["/v1/pets", "/healthz"]) {
      const startMs = performance.now();
      assert.equal((await get(path)).status, 200);
      const readMs = performance.now() - startMs;
      count++;
      assert.ok(readMs < readMsMax, `${path} took ${readMs} ms`);
    }
    await delay(20); // Reads without a pause would only take processor time.
  }
  return count;
}

test("on a frozen file system with folder and log reads and /healthz go on; creates and changes of keys are answered at the thaw", {
  skip: process.getuid?.() === 0 ? false : "needs root, to freeze a file system",
}, async (context) => {
  const folder = temporaryFolder(context);
  const [image, mount] = [join(folder, "image"), join(folder, "mount")];
  writeFileSync(image, "");
  truncateSync(image, 16_777_216);
  mkdirSync(mount);
  if (!tool("mkfs.ext4", "-q", "-F", image) || !tool("mount", "-o", "loop", image, mount)) {
    context.skip("needs mkfs.ext4 and mount -o loop, which do not work here");
    return;
  }
  const thaw = (): boolean => tool("fsfreeze", "-u", mount);
  const [data, log] = [join(mount, "data"), join(mount, "requests.log")];
  const key = await createKey(["--data", data]);
  const server = await start(context, ["--data", data, "--log", "requests"], { stderr: openSync(log, "a") });
  const client = newClient(server, key, { timeoutMs: frozenMs });
  try {
    assert.equal((await client.add(misty)).status, 201);
    if (!tool("fsfreeze", "-f", mount)) {
      context.skip("needs fsfreeze, which does not work here");
      return;
    }
    const endMs = performance.now() + frozenMs;
    const waiting = Promise.all([newClient(server, key).add(misty), run(["keys", "create", "--data", data])]);
    let hasEnded = false;
    void waiting.catch(() => undefined).finally(() => (hasEnded = true));
    const readCount = await readUntil(() => performance.now() > endMs, (path) => client.get(path));
    assert.equal(hasEnded, false, "nothing was answered that is not on disk");
    assert.ok(thaw());
    const [added, made] = await waiting;
    assert.deepEqual([added.status, made.code], [201, 0]);
    assert.equal(await server.stop(), 0);
    const lines = readFileSync(log, "utf8").split("\n").filter((line) => line.includes('"method":"GET"'));
    assert.equal(lines.length, readCount, "each read has its line in the log");
  } finally {
    thaw();
    client.close();
    await server.stop("SIGKILL");
    tool("umount", "-l", mount);
  }
});

interface Served {
  readonly server: RunningProgram;
  readonly folder: string;
  readonly get: (path: string) => Promise<Received>;
}

/** A server with a certificate, and with a log file. */
async function served(context: TestContext, how: { readonly folder?: string; readonly env?: NodeJS.ProcessEnv } = {}): Promise<Served> {
  const { folder = temporaryFolder(context), env = {} } = how;
  const { cert, key } = keepPair(folder, one);
  const args = ["--data", join(folder, "data"), "--log", "requests", "--tls-cert", cert, "--tls-key", key];
  const server = await start(context, args, { stderr: openSync(join(folder, "requests.log"), "a"), env });
  const agent = new Agent({ keepAlive: true, ca: one.cert });
  context.after(() => agent.destroy());
  const headers = { authorization: `Bearer ${await createKey(["--data", join(folder, "data")])}` };
  const get = (path: string) =>
    wholeResponse(request(`${server.origin}${path}`, { agent, headers, signal: AbortSignal.timeout(10_000) }));
  await get("/healthz"); // What a connection takes is no matter of the disk.
  return { server, folder, get };
}

const opening = "openat:delay_enter=1000000";
const asking = "access,faccessat,faccessat2,statx,newfstatat:delay_enter=1000000";

for (const [title, file, ...calls] of [
  ["the data folder", "data/limits.json.new", opening, asking],
  ["the log file", "requests.log", "write:delay_enter=1000000"],
  ["the certificate", "cert.pem", opening, asking],
] as const) {
  test(`while calls for ${title} time out, reads and /healthz go on`, async (context) => {
    const { server, folder, get } = await served(context);
    const trace = join(folder, "trace");
    const injections = calls.flatMap((call) => ["-e", `inject=${call}:error=ETIMEDOUT`]);
    const names = calls.map((call) => call.replace(/:.*/, "")).join();
    const target = ["-f", "-p", String(server.process.pid), "-P", join(folder, file), "-o", trace];
    const strace = await startProcess(context, "strace", [...target, "-e", `trace=${names}`, ...injections], /(attached)/)
      .catch((error: unknown) => context.skip(`needs strace -p, which does not work here: ${String(error)}`));
    if (strace === undefined) {
      return;
    }
    void server.stop("SIGHUP"); // Looks at the certificate, and does not stop.
    await readUntil(() => readFileSync(trace, "utf8").includes("INJECTED"), get);
    await strace.stop("SIGINT");
    assert.equal(await server.stop(), 0);
  });
}

test("while the certificate never opens, reads and /healthz go on, and SIGTERM ends the service, with all saved", async (context) => {
  const folder = temporaryFolder(context);
  const { env, begin } = hangingOpen(join(folder, "cert.pem"));
  const { server, get } = await served(context, { folder, env });
  begin();
  void server.stop("SIGHUP"); // Looks at the certificate, and does not stop.
  let count = 0;
  await readUntil(() => count++ > 20, get);
  const ended = server.stop();
  const abort = new AbortController();
  const tooLate = delay(10_000, undefined, { signal: abort.signal }).then(() => assert.fail("it did not end within 10 s"));
  tooLate.catch(() => undefined);
  await Promise.race([ended, tooLate]).finally(() => abort.abort());
  assert.deepEqual(await server.ended, { code: null, signal: "SIGTERM" }, "not of itself");
  assert.match(readFileSync(join(folder, "requests.log"), "utf8"), /stopped/);
  assert.match(readFileSync(join(folder, "data", "limits.json"), "utf8"), /key_/);
});
