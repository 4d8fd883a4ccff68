/**
 * The quota as two meters with a countdown each, and the wait after a 429, for which the buttons rest. A tick sends
 * nothing and moves no focus. A live region announces only that a wait begins and that it is over.
 */

import { byId, setText } from "./dom.ts";
import { onPress, setRest } from "./press.ts";
import { afterResponse, bucketAt, countdown, readLimits, readRate, shortage } from "./quota.ts";
import type { Limits, Quota } from "./quota.ts";
import type { Exchange } from "./session.ts";

const tickMs = 1_000;

export type QuotaView = ReturnType<typeof createQuotaView>;

export function createQuotaView() {
  let quota: Quota | undefined;
  /** By the browser's clock; undefined if the key is not refused. */
  let refusedUntilMs: number | undefined;
  let timer = 0;

  function setWait(text: string, until = ""): void {
    setText("wait", text);
    setRest(until);
    byId("try-anyway").hidden = until === "";
  }

  function endWait(text: string): void {
    refusedUntilMs = undefined;
    setWait(text);
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

  /** Takes in what a response says of the quota of the key. */
  function show({ request, response, body, code }: Exchange): void {
    const field = (name: string): string | null => response?.headers.get(name) ?? null;
    const nowMs = Date.now();
    const rate = readRate(field, nowMs);
    if (rate === undefined || response === undefined || response.status === 401) {
      return; // A 401 tells of the address, not of a key.
    }
    endWait("");
    if (response.status === 429) {
      refusedUntilMs = nowMs + rate.leftMs;
      const until = new Date(refusedUntilMs).toLocaleTimeString();
      setWait(`${code === "key_banned" ? "This key is banned" : "Requests are refused"} until ${until}.`, until);
    }
    const limits = body as Partial<Limits>;
    if (response.ok && request.url.endsWith("/limits") && limits.minute !== undefined) {
      quota = readLimits(limits as Limits, field, nowMs); // What GET /limits promises.
    } else if (quota !== undefined && code !== "key_banned") { // A ban's end is no bucket's.
      quota = afterResponse(quota, rate, nowMs);
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

  onPress("try-anyway", () => {
    setWait("The buttons work again. Each further refusal brings a ban nearer.");
    byId("list").focus(); // The pressed button is hidden now, and lost the focus.
  });
  return { show, forget };
}

function showBucket(name: keyof Quota, quota: Quota, nowMs: number): void {
  const bucket = bucketAt(quota[name], nowMs);
  const { limit, remaining, endsAtMs, isExact } = bucket;
  const few = shortage(bucket);
  Object.assign(byId(name), { max: limit, optimum: limit, high: limit / 5, low: limit / 20, value: remaining });
  const left = `${remaining.toLocaleString("en")} of ${limit.toLocaleString("en")}`;
  setText(`${name}-left`, `${isExact ? "" : "≤ "}${left}`);
  const reset = nowMs < endsAtMs ? `full in ${countdown(endsAtMs - nowMs)}` : "full again";
  setText(`${name}-reset`, few === "" ? reset : `${few}, ${reset}`);
  byId(`${name}-reset`).className = few === "" ? "hint" : remaining < limit / 20 ? "bad" : "warning";
}
