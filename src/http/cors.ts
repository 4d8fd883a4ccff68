/**
 * Cross-origin requests from browsers (Fetch standard, "CORS protocol"): off without an origin that may call.
 */

/** Our fields beyond those that a script may read anyway. */
const exposedFields =
  "Allow, Deprecation, Link, Location, Retry-After, Sunset, WWW-Authenticate, X-RateLimit-Limit, " +
  "X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id";

/** How long a browser may remember a preflight's answer; Chromium takes no more than this. */
const preflightMaxAgeSeconds = 7_200;

export class Cors {
  readonly isOff: boolean;
  readonly #origins: ReadonlySet<string>;

  /** @param origins as browsers send them, or "*" */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
    this.isOff = origins.length === 0;
  }


  /** Whether the fields are those of a preflight from an origin that may call. */
  isPreflight(method: string | undefined, headers: NodeJS.Dict<string | string[]>): boolean {
    return (
      method === "OPTIONS" &&
      headers["access-control-request-method"] !== undefined &&
      this.#allowedOrigin(headers["origin"]) !== undefined
    );
  }

  preflightFields(methods: string): readonly string[] {
    return [
      ...["Access-Control-Allow-Methods", methods],
      ...["Access-Control-Allow-Headers", "Authorization, Content-Type, X-Request-Id"],
      ...["Access-Control-Max-Age", String(preflightMaxAgeSeconds)],
    ];
  }

  /** Appends what every answer carries, errors included: without it a script could not even read their status. */
  appendFields(fields: string[], origin: string | string[] | undefined): void {
    fields.push("Vary", "Origin");
    const allowed = this.#allowedOrigin(origin);
    if (allowed !== undefined) {
      fields.push("Access-Control-Allow-Origin", allowed, "Access-Control-Expose-Headers", exposedFields);
    }
  }

  #allowedOrigin(origin: string | string[] | undefined): string | undefined {
    if (typeof origin !== "string") {
      return undefined;
    }
    if (this.#origins.has("*")) {
      return "*";
    }
    return this.#origins.has(origin) ? origin : undefined;
  }
}
