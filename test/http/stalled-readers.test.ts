/**
 * When a client that reads nothing is cut off: by the time-outs of its socket, with a clock that is set by hand.
 */

import assert from "node:assert/strict";
import { Server } from "node:http";
import { Socket } from "node:net";
import { test, type TestContext } from "node:test";

import { watchReaders } from "../../src/http/stalled-readers.ts";

/** A socket with waiting output, and what Node does at `ms`: it emits that a time-out has passed. */
function waitingSocket(context: TestContext): { readonly socket: Socket; readonly timeOutAt: (ms: number) => void } {
  const server = new Server();
  watchReaders(server, new Map(), { stalledReaderMs: 30_000, timeoutCheckMs: 500 });
  const socket = new Socket();
  context.after(() => socket.destroy());
  Object.defineProperty(socket, "writableLength", { value: 1 });
  const clock = context.mock.method(performance, "now", () => 0);
  const timeOutAt = (ms: number): void => {
    clock.mock.mockImplementation(() => ms);
    server.emit("timeout", socket);
  };
  return { socket, timeOutAt };
}

test("a client that reads nothing for 30 s is cut off at the tenth time-out of 3 s, and not before", (context) => {
  const { socket, timeOutAt } = waitingSocket(context);
  for (let ms = 3_000; ms < 30_000; ms += 3_000) {
    timeOutAt(ms);
    assert.deepEqual([socket.destroyed, socket.timeout], [false, 3_000]);
  }
  timeOutAt(30_000);
  assert.equal(socket.destroyed, true);
});

test("a client that reads something now and then is not cut off", (context) => {
  const { socket, timeOutAt } = waitingSocket(context);
  // It reads once in each 30 s, and Node emits no time-out then.
  for (let ms = 3_000; ms <= 300_000; ms += 3_000) {
    if (ms % 30_000 !== 0) {
      timeOutAt(ms);
    }
  }
  assert.equal(socket.destroyed, false);
});
