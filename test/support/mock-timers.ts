/**
 * Mocks timers with `node:test`, also for modules that import them by name from `node:timers`, as all of src does.
 */

import { syncBuiltinESMExports } from "node:module";
import type { TestContext } from "node:test";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

export interface MockedTimers {
  tick(ms: number): void;
  /** Restores the real timers. It is also called after the test. */
  reset(): void;
}

export function mockTimers(context: TestContext, api: "setTimeout" | "setInterval"): MockedTimers {
  const { timers } = context.mock;
  timers.enable({ apis: [api] });
  syncBuiltinESMExports();
  const reset = (): void => {
    timers.reset();
    syncBuiltinESMExports();
  };
  context.after(reset);
  return { tick: (ms) => timers.tick(ms), reset };
}

/** Runs the work. A second passes only each hundred turns of the event loop, so that work without a timer is done first. */
export async function passTime<Result>(context: TestContext, work: () => Promise<Result>): Promise<Result> {
  const timers = mockTimers(context, "setTimeout");
  let isOver = false;
  const working = work().finally(() => (isOver = true));
  for (let turn = 1; !isOver; turn++) {
    await eventLoopTurn();
    timers.tick(turn % 100 === 0 ? 1_000 : 0);
  }
  timers.reset();
  return working;
}
