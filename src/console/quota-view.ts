/**
 * What is left of the quota, once that is a fifth or less, and the wait after a 429, which is the buttons' cooldown.
 * Nothing here sends a request or moves the focus.
 */

import { setCooldown } from "./buttons.ts";
import { byId } from "./dom.ts";
import { clockTime, isScarce, readRate } from "./quota.ts";
import { type ApiCall, isUnknownKey } from "./session.ts";

/** Ends what is shown. */
let timer: ReturnType<typeof setTimeout> | undefined;
/** `setTimeout` takes no longer delay; a ban may be longer. */
const timerMsMax = 2 ** 31 - 1;

/** Takes in what a response says of the quota of the key. */
export function showQuota(call: ApiCall): void {
  const { response, code } = call;
  // Other responses have the fields of the client's address, or are made before the key is known.
  const isAboutKey = ![408, 431].includes(response?.status ?? 0) && code !== "malformed_request" && !isUnknownKey(call);
  const rate = response && isAboutKey ? readRate(response.headers, Date.now()) : undefined;
  if (rate !== undefined) {
    const until = clockTime(Date.now() + rate.leftMs);
    const count = [rate.remaining, rate.limit].map((one) => one.toLocaleString("en")).join(" of ");
    const isRefused = response?.status === 429;
    hideQuota();
    byId("quota").textContent = !isRefused && isScarce(rate) ? `${count} requests left until ${until}` : "";
    setCooldown(isRefused ? until : "");
    timer = setTimeout(hideQuota, Math.min(rate.leftMs, timerMsMax));
  }
}

export function hideQuota(): void {
  clearTimeout(timer);
  byId("quota").textContent = "";
  setCooldown("");
}
