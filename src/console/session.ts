/**
 * The key in use, and the one place that calls the API. No press counts while the page is busy, so the key
 * cannot change while a request is under way.
 */

import { adviceFor } from "./advice.ts";
import { setBusy } from "./buttons.ts";
import { notify, shown } from "./dom.ts";
import { isPet, parseExact, type Pet } from "./exact-json.ts";
import { clockTime } from "./quota.ts";

/** A request to the API. The key is added where it is sent. */
export interface CallRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Besides `Authorization`. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly content?: string | undefined;
}

export interface ApiCall {
  readonly request: CallRequest;
  /** Undefined unless the whole response arrived. */
  readonly response: Response | undefined;
  /** The content as `parseExact` reads it; an empty object if it is no JSON. */
  readonly body: unknown;
  /** The code of an error of the service, or "no_response"; otherwise empty. */
  readonly code: string;
  /** The message of an error of the service, otherwise empty. */
  readonly message: string;
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

  async request(path: string, request: CallRequest = { method: "GET" }): Promise<ApiCall> {
    setBusy(true);
    const sign = setTimeout(showWait, signMs);
    const call = await transfer(this.#api + path, request, this.key);
    clearTimeout(sign);
    setBusy(false);
    this.#watch(call);
    return call;
  }
}

/** A request that stores something: sent again as it is, it does so once. */
export function writeRequest(method: CallRequest["method"], content?: string, more = {}): CallRequest {
  const name = crypto.getRandomValues(new Uint32Array(4)).join("-"); // `randomUUID` is there only on secure pages.
  const type = content === undefined ? {} : { "Content-Type": "application/json" };
  return { method, content, fields: { ...type, "Idempotency-Key": `"${name}"`, ...more } };
}

async function transfer(url: string, request: CallRequest, key: string): Promise<ApiCall> {
  const { method, fields, content: body = null } = request;
  try {
    const response = await fetch(url, {
      method,
      body,
      headers: { ...fields, Authorization: `Bearer ${key}` },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(responseMsMax),
    });
    return { request, response, ...read(await response.text()) };
  } catch {
    return { request, response: undefined, body: {}, code: "no_response", message: "" }; // Browsers do not say why.
  }
}

/** A proxy may have made the content: no JSON, or any other one. */
function read(content: string): Pick<ApiCall, "body" | "code" | "message"> {
  try {
    const body = parseExact(content) ?? {};
    const { code, message } = body as Readonly<Record<string, unknown>>;
    const [first = "", second = ""] = [code, message].map((one) => (typeof one === "string" ? one : ""));
    return { body, code: first, message: second };
  } catch {
    return { body: {}, code: "", message: "" };
  }
}

/** Whether the service does not know the key. Where an address has sent many such keys, it says 429 instead of 401. */
export function isUnknownKey({ response, code }: ApiCall): boolean {
  return response?.status === 401 || code === "too_many_failures";
}

/** The query of the link to the next page (RFC 8288), as "?limit=…"; undefined if there is none. */
export function nextQuery({ response }: ApiCall): string | undefined {
  return /<[^>?]*(\?[^>]*)>\s*;\s*rel="?next"?/.exec(response?.headers.get("Link") ?? "")?.[1];
}

/** The animals of a page of the list; undefined if the response is no such page. */
export function petsOf({ response, body }: ApiCall): readonly Pet[] | undefined {
  return response?.ok && Array.isArray(body) && body.every(isPet) ? body : undefined;
}

/** The animal of a response, with its tag, whatever a proxy that compresses has made of that; undefined if none. */
export function petOf({ response, body }: ApiCall): Pet | undefined {
  const [tag = ""] = /[a-z]+-[0-9]+/.exec(response?.headers.get("ETag") ?? "") ?? [];
  return response?.ok && isPet(body) ? { ...body, tag } : undefined;
}

/** Says what went wrong and what to do. */
export function explain({ response, code, message }: ApiCall): void {
  const waitMs = response?.status === 429 ? Number(response.headers.get("Retry-After")) * 1_000 : 0;
  const advice = adviceFor(response?.status === 401 ? "invalid_api_key" : code, message, response?.status);
  if (waitMs > 0) {
    notify("wait", ...shown(`${advice} Wait until ${clockTime(Date.now() + waitMs)}.`)); // It stays true, uncounted.
  } else {
    notify("bad", ...shown(advice));
  }
}

function showWait(): void {
  if (document.querySelector(".says:not(:empty)") === null) {
    notify("wait", "Waiting for the answer…");
  }
}
