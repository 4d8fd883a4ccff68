/**
 * The fields that every response has, the X-RateLimit fields among them.
 */

import type { Response } from "./response.ts";

/** The numbers of X-RateLimit-Limit, -Remaining and -Reset. */
export interface RateNumbers {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/**
 * All fields of a response: those that every response has, then its own.
 *
 * @param rate undefined on the public pages, which are not the API
 */
export function fieldsOf(response: Response, requestId: string, rate: RateNumbers | undefined): string[] {
  const { content, contentType, cacheControl, fields } = response;
  const all = ["X-Request-Id", requestId, "X-Content-Type-Options", "nosniff", "Cache-Control", cacheControl];
  if (content !== undefined) {
    all.push("Content-Type", contentType, "Content-Length", String(contentLength(content)));
  }
  if (rate !== undefined) {
    all.push("X-RateLimit-Limit", String(rate.limit), "X-RateLimit-Remaining", String(rate.remaining));
    all.push("X-RateLimit-Reset", String(rate.resetSeconds));
  }
  for (const part of fields) {
    all.push(part);
  }
  return all;
}

/** In bytes. */
export function contentLength(content: string | Uint8Array | undefined): number {
  if (content === undefined) {
    return 0;
  }
  return typeof content === "string" ? Buffer.byteLength(content) : content.length;
}
