/**
 * The mocked timers of `node:test`, also for modules that import theirs by name from `node:timers`, as all of src does.
 */

import { syncBuiltinESMExports } from "node:module";
import type { TestContext } from "node:test";

export interface MockedTimers {
  tick(ms: number): void;
  /** Also called after the test. */
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
