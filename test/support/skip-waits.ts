/** Lets the client wait without taking the time. */

import type { TestContext } from "node:test";

/**
 * Makes time pass only by waiting: a timer of the client moves the clock to the timer's end at once.
 * @param onWait gets the milliseconds by which the clock moved; the timer ends when it has resolved
 * @param gate no timer ends before this resolves
 * @returns resolves when the first wait has begun
 */
export function skipWaits(
  context: TestContext,
  onWait: (ms: number) => unknown = () => undefined,
  gate: Promise<void> = Promise.resolve(),
): Promise<void> {
  let skippedMs = 0;
  const { setTimeout: realTimeout } = globalThis;
  const startMs = performance.now();
  const nowMs = (): number => startMs + skippedMs;
  context.mock.method(performance, "now", nowMs);
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  context.mock.method(globalThis, "setTimeout", (callback: (...args: unknown[]) => void, ms: number, ...args: unknown[]) => {
    if (!/client\/client\.[tj]s/.test(new Error().stack ?? "")) {
      return realTimeout(callback, ms, ...args); // Node's fetch uses the same function.
    }
    const endMs = nowMs() + ms;
    begin();
    return realTimeout(async () => {
      await gate;
      const restMs = Math.max(0, endMs - nowMs());
      skippedMs += restMs;
      await onWait(restMs);
      callback();
    }, 0);
  });
  return begun;
}
