/**
 * The public pages, at the server's root: no key, and no rate fields, since they are not the API (contract, section 8).
 */

import { type Answer, answer, refusal } from "./response.ts";

const allow = ["Allow", "GET, HEAD, OPTIONS"];

export interface PublicPage {
  readonly path: string;
  readonly show: () => Answer;
}

export function answerPublicPage(method: string | undefined, page: PublicPage): Answer {
  switch (method) {
    case "GET":
    case "HEAD":
      return page.show();
    case "OPTIONS":
      return answer(204, undefined, allow);
    default:
      return refusal("method_not_allowed", allow);
  }
}
