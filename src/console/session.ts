/**
 * The key in use, and the one place that calls the API. No press counts while the page is busy, so the key
 * cannot change while a request is under way.
 */

import { adviceFor } from "./advice.ts";
import { setBusy } from "./buttons.ts";
import type { CallRequest } from "./call-request.ts";
import { byId, notify, shown } from "./dom.ts";
import { isPet, parseExact, type Pet } from "./exact-json.ts";
import { clockTime } from "./quota.ts";

export interface ApiCall {
  readonly request: CallRequest;
  /** Undefined unless the whole response arrived. */
  readonly response: Response | undefined;
  /** The content as `parseExact` reads it; an empty object if it is no JSON. */
  readonly body: unknown;
  /** The code of an error of the service, or "no_response"; otherwise empty. */
  readonly code: string;
}

const responseMsMax = 30_000;
/** Most responses come sooner, and a sign that comes and goes at once would only flicker. */
const signMs = 300;

export class Session {
  key = "";
  /** The address of the API. */
  readonly #api: string;
  readonly #watch: (call: ApiCall) => void;

  constructor(api: string, watch: (call: ApiCall) => void) {
    this.#api = api;
    this.#watch = watch;
  }

  /** @param more of a request that is sent again, all of it */
  async request(path: string, more: Partial<CallRequest> = {}): Promise<ApiCall> {
    setBusy(true);
    const sign = setTimeout(showWait, signMs);
    const call = await transfer({ url: this.#api + path, method: "GET", ...more }, this.key);
    clearTimeout(sign);
    setBusy(false);
    this.#watch(call);
    return call;
  }
}

async function transfer(request: CallRequest, key: string): Promise<ApiCall> {
  const { url, method, fields, content: sent = null } = request;
  let response: Response | undefined;
  let content = "";
  try {
    const arriving = await fetch(url, {
      method,
      body: sent,
      headers: { ...fields, Authorization: `Bearer ${key}` },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(responseMsMax),
    });
    content = await arriving.text();
    response = arriving;
  } catch {
    // Browsers do not say why: it is no response.
  }
  const body = read(content);
  const { code = response === undefined ? "no_response" : "" } = body;
  return { request, response, body, code: plain(code) };
}

/** A proxy may have made the content, so each member may be anything. */
function plain(value: unknown): string {
  return typeof value === "object" ? "" : `${value}`;
}

function read(content: string): { readonly code?: unknown } {
  try {
    return (parseExact(content) ?? {}) as object;
  } catch {
    return {}; // Not JSON: a proxy's own page, or nothing.
  }
}

function messageOf({ body }: ApiCall): string {
  return plain((body as { readonly message?: unknown }).message ?? "");
}

/** Whether the service does not know the key. Where an address has sent many such keys, it says 429 instead of 401. */
export function isUnknownKey(call: ApiCall): boolean {
  const { response } = call;
  return response?.status === 401 || (response?.status === 429 && messageOf(call).includes("from this address"));
}

/** The animals of a page of the list; undefined if the response is no such page. */
export function petsOf({ response, body }: ApiCall): readonly Pet[] | undefined {
  return response?.ok && Array.isArray(body) && body.every(isPet) ? body : undefined;
}

/** Says what went wrong and what to do. Codes and fields are for programmers, who see the response. */
export function explain(call: ApiCall): void {
  const { response, code } = call;
  const waitMs = response?.status === 429 ? Number(response.headers.get("Retry-After")) * 1_000 : 0;
  const advice = adviceFor(isUnknownKey(call) ? "invalid_api_key" : code, messageOf(call));
  if (waitMs > 0) {
    notify("wait", ...shown(`${advice} Wait until ${clockTime(Date.now() + waitMs)}.`)); // It stays true, uncounted.
  } else {
    notify("bad", ...shown(advice));
  }
}

function showWait(): void {
  if (byId("notice").matches(":empty")) {
    notify("wait", "Waiting for the answer…");
  }
}
