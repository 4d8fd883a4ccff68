import { setTimeout } from "node:timers/promises";

/** Between two checks: in a second they are fewer than the failed authentications that an address may have. */
const pauseMs = 25;

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
    await setTimeout(pauseMs);
  }
}
