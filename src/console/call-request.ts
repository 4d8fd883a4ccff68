/** A request to the API, its `curl` line for a POSIX shell in which `KEY` holds the API key, and where the API is. */

/** Without the key, which is added where the request is sent. */
export interface CallRequest {
  /** Absolute address. */
  readonly url: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Besides `Authorization`. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly content?: string | undefined;
  /** 2, 3, … if it goes on with what the request before it began: the list of requests shows them as one. */
  readonly part?: number;
}

export const json = { "Content-Type": "application/json" };

/** A request that stores something: sent again as it is, it does so once. */
export function writeRequest(method: CallRequest["method"], content?: string, more = {}): Partial<CallRequest> {
  const name = crypto.getRandomValues(new Uint32Array(4)).join("-"); // `randomUUID` is there only on secure pages.
  return { method, content, fields: { ...(content && json), "Idempotency-Key": `"${name}"`, ...more } };
}

/** With -g, brackets in the path are no pattern. The address is what the browser sends. */
export function curlLine({ url, method, fields = {}, content }: CallRequest): string {
  return [
    `curl -gi${method === "PATCH" || method === "DELETE" ? `X ${method}` : ""} ${quoteForShell(new URL(url).href)}`,
    '-H "Authorization: Bearer $KEY"',
    ...Object.entries(fields).map(([name, value]) => `-H ${quoteForShell(`${name}: ${value}`)}`),
    ...(content === undefined ? [] : [`--data-raw ${quoteForShell(content)}`]),
  ].join(" \\\n  ");
}

export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * The base address of the API, without a slash at its end. One of this origin is used as it is. Another origin must not
 * be called from here, so only its path is used, below the same prefix as this page.
 */
export function apiAddress(page: string, server: string): string {
  const root = new URL(".", page);
  const named = new URL(server, root);
  const isAbsolute = /^https?:/i.test(server);
  const url = isAbsolute && named.origin === root.origin ? named : new URL(`.${named.pathname}`, root);
  return url.href.replace(/\/$/, "");
}

/** What follows the address of the API in a path that a person has typed, or has copied with the API's own path. */
export function targetOf(typed: string, address: string): string {
  const path = `/${typed.trim().replace(/^\/*/, "")}`;
  const own = new URL(address).pathname;
  return path.startsWith(`${own}/`) ? path.slice(own.length) : path;
}

/** The query of the link to the next page (RFC 8288), as "?limit=…"; undefined if there is none. */
export function nextQuery(link: string | null): string | undefined {
  return /<[^>?]*(\?[^>]*)>\s*;\s*rel="?next"?/.exec(link ?? "")?.[1];
}
