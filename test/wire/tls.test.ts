/** What is particular to HTTPS. `.ci/run` also runs the tests of raw connections over it. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectPlainly } from "node:net";
import { test } from "node:test";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";

import { systemClock } from "../../src/base/clock.ts";
import { Observers } from "../../src/observe/observers.ts";
import { one } from "../support/certificates.ts";
import { runningService } from "../support/running-service.ts";
import { until } from "../support/until.ts";
import { Wire } from "../support/wire.ts";

async function secure(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", ca: one.cert, ...options });
  await once(socket, "secureConnect");
  return socket;
}

test("HTTPS is TLS 1.2 or later with HTTP/1.1, also for a client that would rather have HTTP/2", async (context) => {
  const { port } = await runningService(context, { certificate: one });
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    const socket = await secure(port, { ALPNProtocols: ["h2", "http/1.1"], minVersion: version, maxVersion: version });
    assert.deepEqual([socket.alpnProtocol, socket.getProtocol(), socket.authorized], ["http/1.1", version, true]);
    socket.destroy();
  }
  const old: ConnectionOptions = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" };
  await assert.rejects(secure(port, old), /alert protocol version|unsupported protocol|no protocols available/);
});

test("a stop does not wait for a handshake, nor for a secure connection on which nothing has come", async (context) => {
  const { port, listener } = await runningService(context, { certificate: one });
  const silent = connectPlainly({ port, host: "127.0.0.1" });
  await once(silent.resume(), "connect");
  const unused = await secure(port);
  const closed = [silent, unused.resume()].map((socket) => once(socket, "close"));
  const startedMs = performance.now();
  await listener.stop(60_000);
  assert.ok(performance.now() - startedMs < 9_000); // A handshake has 10 s.
  await Promise.all(closed);
});

test("what ends before it is secure is no request, and does not hold a connection beyond its time", async (context) => {
  const observers = new Observers({ clock: systemClock, hasMetrics: true, writeRequests: undefined });
  const { port, service, key } = await runningService(context, { certificate: one, observers, limits: { fieldsMs: 300 } });
  const plain = await Wire.open(port, { isSecure: false });
  assert.doesNotMatch((await plain.send("GET /v1/pets HTTP/1.1\r\nHost: a\r\n\r\n").closed()).rest, /^HTTP/);
  const silent = connectPlainly({ port, host: "127.0.0.1" });
  await once(silent.resume(), "close"); // The server has waited for its handshake.
  const idle = await secure(port);
  await once(idle.resume(), "close"); // As on a plain connection on which nothing comes.
  const wire = await Wire.open(port, { isSecure: true });
  wire.send(`GET /v1/limits HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  assert.equal((await wire.response()).status, 200);
  await until("the request is counted", () => /^animal_store_requests_total.* 1$/m.test(service.metrics()));
  const counts = service.metrics().match(/^animal_store_requests_total.*$/gm) ?? [];
  assert.deepEqual(counts.filter((line) => !line.endsWith(" 0")).length, 1, counts.join("\n"));
  wire.destroy();
});

test("a client that renegotiates again and again is closed, in the fast lane and by node:http", async (context) => {
  for (const hasFastLane of [true, false]) {
    const { port } = await runningService(context, { certificate: one, hasFastLane });
    const socket = await secure(port, { maxVersion: "TLSv1.2" });
    const closed = once(socket.resume(), "close");
    let count = 0;
    const next = (error: Error | null): void => {
      count += error === null ? 1 : 0;
      if (count < 10 && !socket.destroyed) {
        socket.renegotiate({}, next);
      } else {
        socket.destroy();
      }
    };
    socket.renegotiate({}, next);
    await closed;
    assert.ok(count < 10, `fast lane ${hasFastLane}: ${count}`);
  }
});
