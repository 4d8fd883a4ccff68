/**
 * The public pages, at the server's root. They need no key, take no token and have no rate fields: they are not the
 * API.
 */

import { createHash } from "node:crypto";

import { errorResponse, jsonResponse, type Response } from "./response.ts";

const allow = ["Allow", "GET, HEAD, OPTIONS"];

export interface PublicPage {
  readonly path: string;
  /** With its quotes; undefined if clients must not cache the page. */
  readonly etag?: string;
  readonly show: () => Response;
}

export interface PageContent {
  readonly path: string;
  readonly contentType: string;
  readonly content: string | Uint8Array;
  /** Further fields: name, value, name, value, … */
  readonly fields?: readonly string[];
}

/** A page whose content does not change while the program runs. Clients cache it and revalidate it each time. */
export function fixedPage({ path, contentType, content, fields = [] }: PageContent): PublicPage {
  const bytes = Buffer.from(content);
  const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
  const page: Response = {
    status: 200,
    fields: ["ETag", etag, ...fields],
    content: bytes,
    contentType,
    cacheControl: "no-cache",
  };
  return { path, etag, show: () => page };
}

/** The icon that every browser asks for: a paw. */
export const favicon: PublicPage = fixedPage({
  path: "/favicon.ico",
  contentType: "image/svg+xml",
  content:
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="#b5651d">' +
    '<ellipse cx="5" cy="14" rx="3.5" ry="4.5"/><ellipse cx="12" cy="7" rx="3.5" ry="5"/>' +
    '<ellipse cx="20" cy="7" rx="3.5" ry="5"/><ellipse cx="27" cy="14" rx="3.5" ry="4.5"/>' +
    '<path d="M16 14c5 0 10 6 10 11 0 4-4 5-10 4-6 1-10 0-10-4 0-5 5-11 10-11z"/></svg>',
});

const healthy = jsonResponse(200, '{"status":"ok"}');
const unhealthy = jsonResponse(503, '{"status":"unavailable"}');

/** Whether the service takes requests and its store can write. */
export function healthPage(isHealthy: () => boolean): PublicPage {
  return { path: "/healthz", show: () => (isHealthy() ? healthy : unhealthy) };
}

/** @param ifNoneMatch the field of the request */
export function answerPublicPage(
  method: string | undefined,
  page: PublicPage,
  ifNoneMatch: string | undefined,
): Response {
  switch (method) {
    case "GET":
    case "HEAD": {
      const response = page.show();
      return hasEtag(ifNoneMatch, page.etag) ? { ...response, status: 304, content: undefined } : response;
    }
    case "OPTIONS":
      return jsonResponse(204, undefined, allow);
    default:
      return errorResponse("method_not_allowed", allow);
  }
}

/** RFC 9110, 13.1.2: the comparison is weak. The service's own tags contain no comma. */
function hasEtag(ifNoneMatch: string | undefined, etag: string | undefined): boolean {
  if (ifNoneMatch === undefined || etag === undefined) {
    return false;
  }
  return ifNoneMatch === "*" || ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
