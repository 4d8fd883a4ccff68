import { setTimeout } from "node:timers/promises";

/** Resolves with the first result that is not falsy. Rejects after a time, long enough for a busy machine. */
export async function until<Result>(
  what: string,
  check: () => Result | Promise<Result>,
  { timeoutMs = 30_000 }: { readonly timeoutMs?: number } = {},
): Promise<Result> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const result = await check();
    if (result) {
      return result;
    }
    if (performance.now() > end) {
      throw new Error(`Waited ${timeoutMs} ms in vain: ${what}`);
    }
    await setTimeout(10);
  }
}
