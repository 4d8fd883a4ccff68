/**
 * The quota as two meters with a countdown each, and the wait after a 429, which is the buttons' cooldown. A tick sends
 * nothing and moves no focus. A live region announces only that a wait begins and that it is over.
 */

import { setCooldown } from "./buttons.ts";
import { byId, setText } from "./dom.ts";
import { afterResponse, clockTime, countdown, hasSpare, isLimits, type Quota, readLimits, readRate } from "./quota.ts";
import { type ApiCall, isUnknownKey } from "./session.ts";

const tickMs = 1_000;

export type QuotaView = ReturnType<typeof createQuotaView>;

export function createQuotaView() {
  let quota: Quota | undefined;
  /** By the browser's clock; undefined if the key is not refused. */
  let refusedUntilMs: number | undefined;

  function setWait(text: string, untilMs?: number): void {
    refusedUntilMs = untilMs;
    const until = untilMs === undefined ? "" : clockTime(untilMs);
    setText("wait", until === "" ? text : `${text} until ${until}.`);
    setCooldown(until);
  }

  function tick(): void {
    const nowMs = Date.now();
    if (nowMs >= (refusedUntilMs ?? Infinity)) {
      setWait("The wait is over.");
    }
    setText("wait-left", refusedUntilMs === undefined ? "" : `${countdown(refusedUntilMs - nowMs)} left`);
    byId("meters").hidden = quota === undefined;
    if (quota !== undefined) {
      showWindow("minute", quota, nowMs);
      showWindow("day", quota, nowMs);
    }
  }

  /** Takes in what a response says of the quota of the key. */
  function show(call: ApiCall): void {
    const { request, response, body, code } = call;
    const nowMs = Date.now();
    const rate = response && isAboutKey(call) ? readRate(response.headers, nowMs) : undefined;
    if (response === undefined || rate === undefined) {
      return;
    }
    setWait("");
    if (response.status === 429) {
      setWait(code === "key_banned" ? "This key is banned" : "This key has to wait", nowMs + rate.leftMs);
    }
    if (response.ok && request.url.endsWith("/limits") && isLimits(body)) {
      quota = readLimits(body, response.headers, nowMs);
    } else if (quota !== undefined && code !== "key_banned") { // A ban's end is no window's.
      quota = afterResponse(quota, rate, nowMs);
      if (quota === undefined) {
        setText("plan", "plan changed: press Refresh");
      }
    }
    tick();
  }

  /** After `GET /limits`: returns a function that says whether the key has requests to spare after so many more. */
  function countSpare(): (requestCount: number) => boolean {
    const dayLeft = quota?.day.remaining ?? 0;
    return (requestCount) => quota !== undefined && hasSpare(quota, dayLeft - requestCount);
  }

  function forget(): void {
    quota = undefined;
    setWait("");
    tick();
  }

  setInterval(tick, tickMs);
  return { show, countSpare, forget };
}

/** Other responses have the fields of the client's address, or are made before the key is known. */
function isAboutKey(call: ApiCall): boolean {
  const { response, code } = call;
  return ![408, 431].includes(response?.status ?? 0) && code !== "malformed_request" && !isUnknownKey(call);
}

/** Shows a window as last reported, or full once it has ended. */
function showWindow(name: keyof Quota, quota: Quota, nowMs: number): void {
  const { limit, endsAtMs, ...said } = quota[name];
  const isOver = nowMs >= endsAtMs;
  const remaining = isOver ? limit : said.remaining;
  Object.assign(byId(name), { max: limit, optimum: limit, high: limit / 5, low: limit / 20, value: remaining });
  setText(`${name}-left`, `${remaining.toLocaleString("en")} of ${limit.toLocaleString("en")}`);
  setText(`${name}-reset`, isOver ? "full again" : `full in ${countdown(endsAtMs - nowMs)}`);
}
