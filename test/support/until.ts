import { setTimeout } from "node:timers/promises";

/** The pause between two checks, long enough that an address does not use up its failed authentications. */
const pauseMs = 25;

/** Resolves to the first result that is not falsy. Rejects after a time-out, long enough for a busy machine. */
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
