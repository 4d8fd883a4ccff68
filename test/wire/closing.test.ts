/**
 * The last response of a connection reaches a client that is still sending, whatever closes the connection: its bytes are
 * read and dropped until the client closes its side too (RFC 9112, 9.6).
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import { type RunningService, runningService } from "../support/running-service.ts";
import { request, rex, Wire } from "../support/wire.ts";

const key = (running: RunningService, fields: readonly string[]): Buffer => request({ key: running.key, fields });
const endings: Readonly<Record<string, (running: RunningService) => Buffer>> = {
  "Connection: close": (running) => key(running, ["Connection: close"]),
  "HTTP/1.0": (running) => request({ key: running.key, version: "1.0" }),
  "Upgrade": (running) => key(running, ["Upgrade: h2c"]),
  "Upgrade with content": (running) => request({ method: "POST", key: running.key, fields: ["Upgrade: h2c"], content: rex }),
  "two Hosts": (running) => key(running, ["Host: a", "Host: b"]),
  "content that is not read": () => request({ method: "POST", fields: ["Content-Length: 5000"] }),
  "bytes that are no request": () => Buffer.from("garbage\r\n\r\n"),
  "a stop": (running) => {
    void running.listener.stop(10_000);
    return key(running, []);
  },
};
for (const [name, begin] of Object.entries(endings)) {
  test(`after ${name} a client that goes on sending, and reads late, gets its response`, async (context) => {
    const running = await runningService(context, { limits: { stopIdleMs: 20 } });
    const connected = once(running.listener.server, "connection");
    const wire = await Wire.open(running.port);
    const [socket] = (await connected) as [Socket];
    wire.socket.pause();
    wire.send(begin(running));
    while (socket.bytesWritten === 0) {
      await eventLoopTurn();
    }
    const startMs = performance.now();
    while (performance.now() - startMs < 50) { // Also beyond the time after which a stop closes idle connections.
      wire.send("x");
      await eventLoopTurn();
    }
    wire.socket.resume();
    assert.equal((await wire.response()).value("connection"), "close");
    assert.deepEqual(await wire.closed(), { ending: "end", rest: "" });
  });
}
