/**
 * The `curl` line of a request, for a POSIX shell in which `KEY` holds the API key.
 */

/** A request to the API. The key is not part of it: it is added where the request is sent. */
export interface ApiRequest {
  /** Absolute address. */
  readonly url: string;
  /** Besides `Authorization`. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Makes it a POST. */
  readonly content?: string;
}

export function methodOf({ content }: ApiRequest): "GET" | "POST" {
  return content === undefined ? "GET" : "POST";
}

/** With -g, brackets in the path are no pattern. */
export function curlLine({ url, fields = {}, content }: ApiRequest): string {
  return [
    `curl -gi ${quoteForShell(url)}`,
    '-H "Authorization: Bearer $KEY"',
    ...Object.entries(fields).map(([name, value]) => `-H ${quoteForShell(`${name}: ${value}`)}`),
    ...(content === undefined ? [] : [`--data-raw ${quoteForShell(content)}`]),
  ].join(" \\\n  ");
}

/** Between single quotes nothing is special but the quote itself. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
