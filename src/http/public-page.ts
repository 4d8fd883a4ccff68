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
