/**
 * The quota as two meters with a countdown each, and the wait after a 429, for which the buttons rest. A tick sends
 * nothing and moves no focus. A live region announces only that a wait begins and that it is over.
 */

import { byId, setText } from "./dom.ts";
import { onPress, setRest } from "./press.ts";
import { afterResponse, afterUnknown, bucketAt, countdown, readLimits, readRate, shortage } from "./quota.ts";
import type { Limits, Quota, Rate } from "./quota.ts";
import { type Exchange, isUnknownKey } from "./session.ts";

const tickMs = 1_000;

export type QuotaView = ReturnType<typeof createQuotaView>;

export function createQuotaView() {
  let quota: Quota | undefined;
  /** By the browser's clock; undefined if the key is not refused. */
  let refusedUntilMs: number | undefined;

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
  function show(exchange: Exchange): void {
    const { response, code } = exchange;
    const nowMs = Date.now();
    const rate = response && isAboutKey(exchange) ? readRate(response.headers, nowMs) : undefined;
    if (rate === undefined) {
      quota &&= afterUnknown(quota);
      tick();
      return;
    }
    endWait("");
    if (response?.status === 429) {
      refusedUntilMs = nowMs + rate.leftMs;
      const until = clockTime(refusedUntilMs);
      setWait(`${code === "key_banned" ? "This key is banned" : "Requests are refused"} until ${until}.`, until);
    }
    const next = quotaAfter(quota, exchange, rate, nowMs);
    if (quota !== undefined && next === undefined) {
      setText("plan", "plan changed: press Refresh");
    }
    quota = next;
    tick();
  }

  function forget(): void {
    quota = undefined;
    endWait("");
    tick();
  }

  onPress("try-anyway", () => {
    setWait("The buttons work again. Each further refusal brings a ban nearer.");
    byId("list").focus(); // The pressed button is hidden now, and lost the focus.
  });
  setInterval(tick, tickMs);
  return { show, forget };
}

function quotaAfter(quota: Quota | undefined, exchange: Exchange, rate: Rate, nowMs: number): Quota | undefined {
  const { request, response, body, code, ms } = exchange;
  const limits = body as Partial<Limits>;
  if (response?.ok === true && request.url.endsWith("/limits") && limits.minute !== undefined) {
    return readLimits(limits as Limits, response.headers, nowMs, ms); // What GET /limits promises.
  }
  const isBanned = code === "key_banned"; // Its end is no bucket's.
  return quota && (isBanned ? quota : afterResponse(quota, rate, code === "rate_limited" ? 0 : 1, nowMs, ms));
}

/** Other responses have the fields of the client's address, or are made before it is known whose request it is. */
function isAboutKey(exchange: Exchange): boolean {
  const { response, code } = exchange;
  return ![408, 431].includes(response?.status ?? 0) && code !== "malformed_request" && !isUnknownKey(exchange);
}

/** With the date, unless that is today. */
function clockTime(ms: number): string {
  const date = new Date(ms);
  const isToday = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(undefined, { ...(!isToday && { dateStyle: "medium" }), timeStyle: "medium" });
}

function showBucket(name: keyof Quota, quota: Quota, nowMs: number): void {
  const bucket = bucketAt(quota[name], nowMs);
  const { limit, remaining, endsAtMs, isExact } = bucket;
  const [few, kind] = shortage(bucket);
  Object.assign(byId(name), { max: limit, optimum: limit, high: limit / 5, low: limit / 20, value: remaining });
  const left = `${remaining.toLocaleString("en")} of ${limit.toLocaleString("en")}`;
  setText(`${name}-left`, `${isExact ? "" : "≤ "}${left}`);
  const reset = nowMs < endsAtMs ? `full in ${countdown(endsAtMs - nowMs)}` : "full again";
  setText(`${name}-reset`, few + reset);
  byId(`${name}-reset`).className = kind;
}
