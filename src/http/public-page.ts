/**
 * The public pages, at the server's root: no key, and no rate fields, since they are not the API (contract, section 8).
 */

import { type Response, jsonResponse, errorResponse } from "./response.ts";

const allow = ["Allow", "GET, HEAD, OPTIONS"];

export interface PublicPage {
  readonly path: string;
  readonly show: () => Response;
}

export function answerPublicPage(method: string | undefined, page: PublicPage): Response {
  switch (method) {
    case "GET":
    case "HEAD":
      return page.show();
    case "OPTIONS":
      return jsonResponse(204, undefined, allow);
    default:
      return errorResponse("method_not_allowed", allow);
  }
}
