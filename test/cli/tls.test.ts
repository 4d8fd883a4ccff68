/** `--tls-cert` and `--tls-key`. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { connect, type TLSSocket } from "node:tls";

import { keepPair as keepPairIn, makePair, noOpenssl, one, type Pair, two } from "../support/certificates.ts";
import { wholeResponse } from "../support/client.ts";
import { freePort } from "../support/free-port.ts";
import { hangingOpen } from "../support/hanging-open.ts";
import { programPath, run, start, startProcess } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runHere } from "../support/terminal.ts";
import { until } from "../support/until.ts";
import { Wire } from "../support/wire.ts";

/** @returns the flags that name it */
function keepPair(folder: string, pair: Pair): string[] {
  const { cert, key } = keepPairIn(folder, pair);
  return ["--tls-cert", cert, "--tls-key", key];
}

function folders(context: TestContext): { readonly data: string; readonly pair: string } {
  return { data: temporaryFolder(context), pair: temporaryFolder(context) };
}

test("with a certificate the port speaks HTTPS, and what a start prints says so", async (context) => {
  const { data, pair } = folders(context);
  const server = await start(context, ["--data", data, "--host", "0.0.0.0", ...keepPair(pair, one)]);
  assert.match(server.url, /^https:\/\/0\.0\.0\.0:\d+\/v1$/);
  assert.match(server.output().stdout, /"https:\/\/127\.0\.0\.1:\d+\/v1\/pets"[^]*console: https:/);
  assert.equal(server.output().stderr, ""); // No warning: keys do not travel in clear.
  const options = { port: new URL(server.origin).port, host: "127.0.0.1", ca: one.cert, headers: { authorization: `Bearer ${server.firstKey}` } };
  const { status, text } = await wholeResponse(request({ ...options, path: "/v1/pets" }));
  assert.deepEqual([status, text], [200, "[]"]);
  assert.equal(await server.stop(), 0);
});

test("with a pair that cannot be used, or half of one, a start and a check exit 2 and name the setting", async (context) => {
  const { data, pair } = folders(context);
  const flags = keepPair(pair, { cert: one.cert, key: two.key });
  const pipe = join(pair, "pipe");
  spawnSync("mkfifo", [pipe]);
  const wrong: readonly (readonly string[])[] = [
    flags,
    flags.slice(0, 2),
    flags.slice(2),
    ["--tls-cert", join(pair, "missing.pem"), ...flags.slice(2)],
    ["--tls-cert", join(pair, "key.pem"), ...flags.slice(2)],
    ["--tls-cert", pipe, ...flags.slice(2)],
    [...flags.slice(0, 2), "--tls-key", pipe],
  ];
  for (const args of wrong) {
    for (const [runIt, ...command] of [[run, "--port", "0"], [runHere, "check"]] as const) {
      const { code, stdout, stderr } = await runIt([...command, "--data", data, ...args]);
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, /^Cannot use --tls-(cert|key) [^\n]*\n$/);
    }
  }
});

test("a signal ends a start whose certificate is on a disk that hangs", async (context) => {
  const { data, pair } = folders(context);
  const flags = keepPair(pair, one);
  const { env, begin } = hangingOpen(join(pair, "key.pem"));
  begin();
  const args = [programPath, "--port", "0", "--data", data, ...flags];
  const program = await startProcess(context, process.execPath, args, /^(it hangs)$/m, { env: { ...process.env, ...env } });
  await program.stop();
  assert.deepEqual(await program.ended, { code: null, signal: "SIGTERM" });
});

test("a renewed pair is used from SIGHUP on, without a connection dropped; one that does not fit is told, and not used", async (context) => {
  const { data, pair } = folders(context);
  const server = await start(context, ["--data", data, ...keepPair(pair, one)]);
  const agents = [new Agent({ keepAlive: true, maxSockets: 1 }), new Agent({ keepAlive: true, maxSockets: 1 })];
  context.after(() => agents.forEach((agent) => agent.destroy()));
  const { port } = new URL(server.origin);
  /** @returns the certificate that the connection began with, and its socket */
  const ask = async (agent: Agent | undefined): Promise<readonly [string, TLSSocket]> => {
    const outgoing = request({ port, host: "127.0.0.1", path: "/healthz", agent: agent ?? false, rejectUnauthorized: false });
    const [[socket]] = await Promise.all([once(outgoing, "socket") as Promise<[TLSSocket]>, wholeResponse(outgoing)]);
    return [socket.getPeerX509Certificate()?.toString() ?? "", socket];
  };
  const certOf = async (): Promise<string> => (await ask(undefined))[0].trim();
  const [, kept] = await ask(agents[0]);
  assert.equal(await certOf(), one.cert.trim());

  keepPair(pair, { cert: two.cert, key: one.key });
  server.process.kill("SIGHUP");
  await until("the fault is told", () => /^warning: the certificate in .*cert\.pem and .* cannot be used/m.test(server.output().stderr));
  assert.equal(await certOf(), one.cert.trim());

  keepPair(pair, two);
  server.process.kill("SIGHUP");
  await until("it is read again", () => server.output().stderr.includes("the certificate was read again"));
  assert.equal(await certOf(), two.cert.trim());
  assert.equal((await ask(agents[0]))[1], kept);
  assert.equal(await server.stop(), 0);
});

test("every option of TLS holds after a renewal: no version before 1.2, also where Node's own floor is lower", async (context) => {
  const { data, pair } = folders(context);
  const env = { NODE_OPTIONS: "--tls-min-v1.0 --tls-cipher-list=DEFAULT@SECLEVEL=0" };
  const server = await start(context, ["--data", data, ...keepPair(pair, one)], { env });
  const { port } = new URL(server.origin);
  const speaks = async (version: "TLSv1.1" | "TLSv1.2"): Promise<boolean> => {
    const versions = { minVersion: version, maxVersion: version, ciphers: "DEFAULT@SECLEVEL=0", rejectUnauthorized: false };
    const socket = connect({ port: Number(port), host: "127.0.0.1", ...versions });
    const isSecure = await once(socket, "secureConnect").then(() => true, () => false);
    socket.destroy();
    return isSecure;
  };
  assert.deepEqual([await speaks("TLSv1.1"), await speaks("TLSv1.2")], [false, true]);
  keepPair(pair, two);
  server.process.kill("SIGHUP");
  await until("it is read again", () => server.output().stderr.includes("the certificate was read again"));
  assert.deepEqual([await speaks("TLSv1.1"), await speaks("TLSv1.2")], [false, true]);
  assert.equal(await server.stop(), 0);
});

test("a certificate that ends soon is told by check and at a start, and is a metric, as are failed handshakes", {
  skip: noOpenssl,
}, async (context) => {
  const { data, pair } = folders(context);
  const flags = keepPair(pair, makePair(context, { days: 100 }));
  const preload = join(pair, "97-days-later.cjs");
  writeFileSync(preload, "const { now } = Date; Date.now = () => now() + 97 * 86_400_000;");
  const env = { NODE_OPTIONS: `--require ${preload}` };
  const remark = `the certificate in ${join(pair, "cert.pem")} expires in 2 days, at `;
  const checked = await run(["check", "--data", data, ...flags], { env });
  assert.equal(checked.code, 0, checked.stdout);
  assert.ok(checked.stdout.includes(`it would serve, but ${remark}`), checked.stdout);

  const metricsPort = await freePort();
  const server = await start(context, ["--data", data, ...flags, "--metrics-port", String(metricsPort)], { env });
  assert.ok(server.output().stderr.includes(`warning: ${remark}`), server.output().stderr);
  const wire = await Wire.open(Number(new URL(server.origin).port), { isSecure: false });
  await wire.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").closed();
  const told = /^warning: 1 TLS handshake failed, the last one with: http request \(127\.0\.0\.1\)$/m;
  await until("the handshake is told", () => told.test(server.output().stderr));
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const end = Number(/^animal_store_certificate_end_time_seconds (\d+)$/m.exec(metrics)?.[1]);
  assert.ok(Math.abs(end - Date.now() / 1_000 - 100 * 86_400) < 3_600, String(end));
  assert.match(metrics, /^animal_store_failed_handshakes_total 1$/m);
  assert.equal(await server.stop(), 0);
});
