/** The public pages, at the server's root. They need no key, take no token and have no rate fields. */

import { createHash } from "node:crypto";

import { errorResponse, jsonResponse, type Response } from "./response.ts";

const allow = ["Allow", "GET, HEAD, OPTIONS"];

export interface PublicPage {
  readonly path: string;
  /** The entity tag, with its quotes; undefined if clients must not cache the page. */
  readonly etag?: string;
  readonly show: () => Response;
}

export interface PageContent extends Pick<Response, "contentType"> {
  readonly path: string;
  readonly content: string | Uint8Array;
  readonly fields?: Response["fields"];
}

/** A page whose content does not change while the program runs. Clients cache it and revalidate it each time. */
export function fixedPage({ path, contentType, content, fields = [] }: PageContent): PublicPage {
  const etag = `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`;
  const allFields = ["ETag", etag, ...fields];
  const page: Response = { ...jsonResponse(200, content, allFields), contentType, cacheControl: "no-cache" };
  return { path, etag, show: () => page };
}

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

export function healthPage(isHealthy: () => boolean): PublicPage {
  return { path: "/healthz", show: () => (isHealthy() ? healthy : unhealthy) };
}

/** Says nothing of storage: a supervisor that restarts a service because its database is away makes it worse. */
export const livePage: PublicPage = { path: "/livez", show: () => healthy };

export function answerPublicPage(method: string | undefined, page: PublicPage, ifNoneMatch = ""): Response {
  if (method === "OPTIONS") {
    return jsonResponse(204, undefined, allow);
  }
  if (method !== "GET" && method !== "HEAD") {
    return errorResponse("method_not_allowed", allow);
  }
  const response = page.show();
  const isKnown = page.etag !== undefined && hasTag(ifNoneMatch, page.etag);
  return isKnown ? { ...response, status: 304, content: undefined } : response;
}

/** Compares weakly, as RFC 9110, 13.1.2 asks. The service's own tags contain no comma. */
function hasTag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch === "*" || ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
