/** Warns if requests show that a setting is missing: for a proxy in front, or for an origin that may not call. */

import type { IncomingHttpHeaders } from "node:http";

import type { Report } from "../base/report.ts";
import type { Cors } from "../http/cors.ts";
import type { Arrival } from "./context.ts";

/** At most so many origins are named in warnings, because a client can send any. */
const namedOriginsMax = 10;

export class SettingWarnings {
  readonly #report: Report;
  readonly #cors: Cors;
  #mayWarnOfProxy: boolean;
  readonly #namedOrigins = new Set<string>();

  constructor(trustedProxyCount: number, cors: Cors, report: Report) {
    this.#mayWarnOfProxy = trustedProxyCount === 0;
    this.#cors = cors;
    this.#report = report;
  }

  /** Looks at no origin if an embedding program does CORS itself: behind the guard, or as its response shows. */
  look(headers: IncomingHttpHeaders, { route, program }: Arrival): void {
    if (this.#mayWarnOfProxy && headers["x-forwarded-for"] !== undefined) {
      this.#mayWarnOfProxy = false;
      this.#report(
        "requests carry X-Forwarded-For, which is ignored; behind a proxy set trustProxy (--trust-proxy), " +
          "or all clients count as one address",
        "warning",
      );
    }
    const isAllowed = (): boolean => program?.outgoing.hasHeader("Access-Control-Allow-Origin") === true;
    if (headers.origin !== undefined && route === undefined && !isAllowed()) {
      this.#lookAtOrigin(this.#cors.refusedOrigin(headers));
    }
  }

  #lookAtOrigin(origin: string | undefined): void {
    if (origin !== undefined && !this.#namedOrigins.has(origin) && this.#namedOrigins.size < namedOriginsMax) {
      this.#namedOrigins.add(origin);
      this.#report(`browsers may not call from ${origin}; see --cors-origin (corsOrigins)`, "warning");
    }
  }
}
