import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";

import { stopSignal } from "../../src/cli/stop-signal.ts";
import { ManualClock } from "../support/manual-clock.ts";

test("stopSignal() aborts at the first signal, and ends by a later one only more than a second after it", () => {
  const clock = new ManualClock();
  const program = new EventEmitter();
  const ends: string[] = [];
  const signal = stopSignal(program, (by) => ends.push(`${by} with ${program.listenerCount(by)} listeners`), clock);
  assert.equal(signal.aborted, false);
  program.emit("SIGTERM", "SIGTERM");
  assert.equal(signal.aborted, true);
  for (const passedMs of [0, 30, 970]) {
    clock.advance(passedMs);
    program.emit("SIGINT", "SIGINT");
    assert.deepEqual(ends, [], String(passedMs));
  }
  clock.advance(1);
  program.emit("SIGINT", "SIGINT");
  // Without listeners the default action of the signal ends the process, also while a file call hangs.
  assert.deepEqual(ends, ["SIGINT with 0 listeners"]);
});
