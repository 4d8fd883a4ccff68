/** `--tls-cert` and `--tls-key`. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { type SecureContextOptions, Server, type TLSSocket } from "node:tls";

import { readCertificate, renewCertificate } from "../../src/cli/certificate.ts";
import { one, two } from "../support/certificates.ts";
import { wholeResponse } from "../support/client.ts";
import { mockTimers } from "../support/mock-timers.ts";
import { run, start } from "../support/program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

/** Writes the pair as a renewal does: each file at once. @returns the flags that name it */
function keepPair(folder: string, { cert, key }: { readonly cert: string; readonly key: string }): string[] {
  const paths = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
  for (const [path, text] of [[paths.cert, cert], [paths.key, key]] as const) {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }
  return ["--tls-cert", paths.cert, "--tls-key", paths.key];
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
  const wrong: readonly (readonly string[])[] = [
    flags,
    flags.slice(0, 2),
    flags.slice(2),
    ["--tls-cert", join(pair, "missing.pem"), ...flags.slice(2)],
    ["--tls-cert", join(pair, "key.pem"), ...flags.slice(2)],
  ];
  for (const args of wrong) {
    for (const command of [["--port", "0"], ["check"]]) {
      const { code, stdout, stderr } = await run([...command, "--data", data, ...args]);
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, /^Cannot use --tls-(cert|key) [^\n]*\n$/);
    }
  }
});

test("curl and openssl s_client agree with it", async (context) => {
  const { data, pair } = folders(context);
  const server = await start(context, ["--data", data, ...keepPair(pair, one)]);
  const { port } = new URL(server.origin);
  const ca = join(pair, "cert.pem");
  const curl = spawnSync("curl", ["-sS", "--cacert", ca, "--http2", `https://localhost:${port}/healthz`, "-w", " %{http_version}"]);
  if (curl.error === undefined) {
    assert.equal(`${curl.stdout}${curl.stderr}`, '{"status":"ok"} 1.1');
  }
  const openssl = ["s_client", "-connect", `127.0.0.1:${port}`, "-CAfile", ca, "-verify_return_error", "-brief"];
  const client = spawnSync("openssl", openssl, { input: "" });
  if (client.error === undefined) {
    assert.match(`${client.stdout}${client.stderr}`, /Verification: OK/);
  }
  assert.equal(await server.stop(), 0);
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

test("a renewed pair is used within a minute, without a signal, and what does not fit is told once", (context) => {
  const { pair } = folders(context);
  const [, cert = "", , key = ""] = keepPair(pair, one);
  const timers = mockTimers(context, "setInterval");
  const server = new Server();
  const used: SecureContextOptions[] = [];
  server.setSecureContext = (options) => void used.push(options);
  const messages: unknown[][] = [];
  const renewal = renewCertificate(server, { cert, key }, readCertificate({ cert, key }), (...message) => messages.push(message));
  timers.tick(120_000);
  assert.deepEqual([used, messages], [[], []]);
  keepPair(pair, { cert: one.cert, key: two.key });
  timers.tick(120_000);
  assert.deepEqual([used, messages.map(([, level]) => level)], [[], ["warning"]]);
  keepPair(pair, two);
  timers.tick(60_000);
  assert.deepEqual(used.map((options) => String(options.cert)), [two.cert]);
  renewal.stop();
  keepPair(pair, one);
  timers.tick(60_000);
  assert.equal(used.length, 1);
});
