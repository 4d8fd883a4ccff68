/**
 * The quota as two meters with a countdown each, and the wait after a 429. A tick sends nothing and moves no focus. A
 * live region announces only the end of the wait.
 */

import { byId, notify, setText } from "./dom.ts";
import { afterResponse, bucketAt, countdown, type Limits, type Quota, readLimits, readRate } from "./quota.ts";
import type { Exchange } from "./session.ts";

const tickMs = 1_000;

export interface QuotaView {
  /** Takes in what a response says of the quota of the key. */
  show(exchange: Exchange): void;
  /** For another key. */
  forget(): void;
}

export function createQuotaView(): QuotaView {
  let quota: Quota | undefined;
  /** By the browser's clock; undefined if the key is not refused. */
  let refusedUntilMs: number | undefined;
  let timer = 0;

  function beginWait(isBanned: boolean, untilMs: number): void {
    refusedUntilMs = untilMs;
    const until = new Date(untilMs).toLocaleTimeString();
    notify("wait", "bad", isBanned ? `This key is banned until ${until}.` : `Requests are refused until ${until}.`);
  }

  function endWait(text: string): void {
    refusedUntilMs = undefined;
    notify("wait", "good", text);
  }

  function tick(): void {
    const nowMs = Date.now();
    if (nowMs >= (refusedUntilMs ?? Infinity)) {
      endWait("The wait is over.");
    }
    setText("wait-left", refusedUntilMs === undefined ? "" : `${countdown(refusedUntilMs - nowMs)} left`);
    byId("meters").hidden = quota === undefined;
    if (quota !== undefined) {
      showBucket("minute", quota, nowMs);
      showBucket("day", quota, nowMs);
    }
  }

  function show({ request, response, body, code }: Exchange): void {
    const field = (name: string): string | null => response?.headers.get(name) ?? null;
    const nowMs = Date.now();
    const rate = readRate(field, nowMs);
    if (rate === undefined || response === undefined || response.status === 401) {
      return; // A 401 tells of the address, not of a key.
    }
    endWait("");
    if (response.status === 429) {
      beginWait(code === "key_banned", nowMs + rate.leftMs);
    }
    const limits = body as Partial<Limits>;
    if (response.ok && request.url.endsWith("/limits") && limits.minute !== undefined) {
      quota = readLimits(limits as Limits, field, nowMs); // What GET /limits promises.
    } else if (quota !== undefined && code !== "key_banned") { // A ban's end is no bucket's.
      quota = afterResponse(quota, rate, { nowMs, isServed: response.status !== 429 });
    }
    clearInterval(timer);
    timer = setInterval(tick, tickMs);
    tick();
  }

  function forget(): void {
    quota = undefined;
    clearInterval(timer);
    endWait("");
    tick();
  }

  return { show, forget };
}

function showBucket(name: keyof Quota, quota: Quota, nowMs: number): void {
  const { limit, remaining, endsAtMs, isExact } = bucketAt(quota[name], nowMs);
  Object.assign(byId(name), { max: limit, optimum: limit, low: limit / 5, value: remaining });
  const left = `${remaining.toLocaleString("en")} of ${limit.toLocaleString("en")}`;
  setText(`${name}-left`, `${isExact ? "" : "up to "}${left} left`);
  const reset = endsAtMs === undefined ? "starts with the next request" : `full in ${countdown(endsAtMs - nowMs)}`;
  setText(`${name}-reset`, reset);
}
