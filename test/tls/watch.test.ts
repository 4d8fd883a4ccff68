/** What happens to a certificate, and with handshakes, while a server runs. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect as connectPlainly, type Socket as PlainSocket } from "node:net";
import { test, type TestContext } from "node:test";
import { connect, createServer, type SecureContextOptions, Server } from "node:tls";

import type { Report } from "../../src/base/report.ts";
import { contextOf, readPair } from "../../src/tls/pair.ts";
import { TlsWatch } from "../../src/tls/watch.ts";
import { keepPair, one, type Pair, two } from "../support/certificates.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { mockTimers } from "../support/mock-timers.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const dayMs = 86_400_000;

async function watched(context: TestContext, server: Server, clock = new ManualClock()) {
  const folder = temporaryFolder(context);
  const messages: Parameters<Report>[] = [];
  const used = await readPair(keepPair(folder, one));
  const watch = new TlsWatch(server, used, clock, (...message) => void messages.push(message));
  context.after(() => watch.stop());
  return { watch, messages, clock, renew: (pair: Pair) => void keepPair(folder, pair) };
}

test("a renewed pair is used within a minute, without a signal, and what does not fit is told once", async (context) => {
  const timers = mockTimers(context, "setInterval");
  const server = new Server();
  const used: SecureContextOptions[] = [];
  server.setSecureContext = (options) => void used.push(options);
  const { watch, messages, renew } = await watched(context, server);
  timers.tick(120_000);
  await watch.check(); // No look is under way while the files change.
  assert.deepEqual([used, messages], [[], []]);
  renew({ cert: one.cert, key: two.key });
  timers.tick(120_000);
  await until("the wrong pair is told", () => messages.length > 0);
  await watch.check();
  assert.deepEqual([used, messages.map(([, level]) => level)], [[], ["warning"]]);
  renew(two);
  await until("the new pair is used", () => {
    timers.tick(60_000);
    return used.length > 0;
  });
  assert.deepEqual(used, [contextOf({ cert: Buffer.from(two.cert), key: Buffer.from(two.key) })]);
  const { certificateEndSeconds, certificateEndToldFromSeconds } = watch.gauges;
  assert.equal(certificateEndSeconds, Date.UTC(2126, 10, 1, 18, 8, 55) / 1_000);
  assert.equal(certificateEndSeconds - certificateEndToldFromSeconds, (14 * dayMs) / 1_000);
  watch.stop();
  renew(one);
  timers.tick(60_000);
  assert.equal(used.length, 1);
});

test("whoever asks for the pair to be read again hears how it went, each time", async (context) => {
  const clock = new ManualClock({ wallMs: Date.UTC(2030, 0, 1) });
  const { watch, messages, renew } = await watched(context, new Server(), clock);
  const asked = async (pair: Pair): Promise<readonly string[]> => {
    messages.length = 0;
    renew(pair);
    await watch.check(true);
    await watch.check(true);
    return messages.map(([, level = "info"]) => level);
  };
  assert.deepEqual(await asked(one), ["info", "info"]);
  assert.deepEqual(await asked({ cert: one.cert, key: two.key }), ["warning", "warning"]);
  assert.deepEqual(await asked(one), ["info", "info"]);
});

test("a certificate that has expired is told once a day", async (context) => {
  const timers = mockTimers(context, "setInterval");
  const clock = new ManualClock({ wallMs: Date.UTC(2127, 0, 1) });
  const { watch, messages } = await watched(context, new Server(), clock);
  watch.tell();
  for (const [hours, count] of [[0, 1], [23, 1], [1, 2], [1, 2], [23, 3]] as const) {
    clock.advance((hours * dayMs) / 24);
    timers.tick(60_000);
    assert.equal(messages.length, count);
  }
  assert.ok(messages.every(([message, level]) => message.includes("is expired since 2126-11-01") && level === "warning"));
});

test("failed handshakes are counted, and the last cause is told at first and then once an hour", async (context) => {
  const server = createServer({ ...contextOf(one), handshakeTimeout: 1_000 }).listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  const { watch, messages, clock } = await watched(context, server);
  const { port } = server.address() as AddressInfo; // It listens on a port.
  const plain = (text: string): PlainSocket => connectPlainly({ port, host: "127.0.0.1" }).on("error", () => undefined).end(text);
  const fail = async (count: number, attempt: () => void): Promise<void> => {
    attempt();
    await until(`${count} have failed`, () => watch.gauges.failedHandshakeCount === count);
  };
  await once(plain(""), "close"); // It is a balancer that looks whether the port is open.
  const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
  await fail(1, () => plain("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  await fail(2, () => plain("SSH-2.0-client of another port\r\n"));
  await fail(3, () => connect({ port, host: "127.0.0.1", ...old }).on("error", () => undefined));
  await fail(4, () => plain("\x16\x03\x01"));
  await fail(5, () => {
    const slow = connectPlainly({ port, host: "127.0.0.1" }).on("error", () => undefined);
    context.after(() => slow.destroy());
    slow.write("\x16\x03\x01");
  });
  clock.advance(3_600_000);
  await fail(6, () => plain("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  assert.deepEqual(messages.map(([message]) => message.replace(/ \(127\.0\.0\.1\)$/, "")), [
    "1 TLS handshake failed, the last one with: http request",
    "5 TLS handshakes failed, the last one with: http request",
  ]);
});
