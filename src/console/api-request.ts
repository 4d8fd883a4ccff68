/** A request to the API, its `curl` line for a POSIX shell in which `KEY` holds the API key, and where the API is. */

/** Without the key, which is added where the request is sent. */
export interface ApiRequest {
  /** Absolute address. */
  readonly url: string;
  readonly method: "GET" | "POST" | "PATCH";
  /** Besides `Authorization`. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly content?: string;
}

/** Fields of a request that stores something: sent again with the same ones, it does so once. */
export function writeFields(): Readonly<Record<string, string>> {
  const name = crypto.getRandomValues(new Uint32Array(4)).join("-"); // `randomUUID` is there only on secure pages.
  return { "Content-Type": "application/json", "Idempotency-Key": `"${name}"` };
}

/** With -g, brackets in the path are no pattern. The address is what the browser sends. */
export function curlLine({ url, method, fields = {}, content }: ApiRequest): string {
  return [
    `curl -gi${method === "PATCH" ? "X PATCH" : ""} ${quoteForShell(new URL(url).href)}`,
    '-H "Authorization: Bearer $KEY"',
    ...Object.entries(fields).map(([name, value]) => `-H ${quoteForShell(`${name}: ${value}`)}`),
    ...(content === undefined ? [] : [`--data-raw ${quoteForShell(content)}`]),
  ].join(" \\\n  ");
}

export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * The base address of the API, without a slash at its end: one of this origin as it is named. Another origin must not
 * be called from here, so only its path is used, as a bare one, below the same prefix as this page.
 */
export function apiAddress(page: string, server: string): string {
  const root = new URL(".", page);
  const named = new URL(server, root);
  const isAbsolute = /^https?:/i.test(server);
  const url = isAbsolute && named.origin === root.origin ? named : new URL(`.${named.pathname}`, root);
  return url.href.replace(/\/$/, "");
}

/** Where the API is: for this page, and as the description names it. */
export interface Api {
  readonly address: string;
  readonly server: string;
}

/**
 * What follows the address of the API in what a person has typed or pasted: a path below it, a path that begins with
 * its own, or a whole address. Undefined for an address of something else, which the key is not for.
 */
export function targetOf(typed: string, { address, server }: Api): string | undefined {
  const isWhole = /^\s*https?:/i.test(typed);
  const text = isWhole && URL.canParse(typed) ? new URL(typed).href : `/${typed.trim().replace(/^\/*/, "")}`;
  const known = [address, server].flatMap((one) => [one, new URL(one, address).pathname]);
  const begin = known.find((one) => text.startsWith(one) && /^[/?]|^$/.test(text.slice(one.length)));
  return begin === undefined ? (isWhole ? undefined : text) : text.slice(begin.length);
}

/** The query of the link to the next page (RFC 8288), as "?limit=…"; undefined if there is none. */
export function nextQuery(link: string | null): string | undefined {
  return /<[^>?]*(\?[^>]*)>\s*;\s*rel="?next"?/.exec(link ?? "")?.[1];
}
