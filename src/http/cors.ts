/**
 * Cross-origin requests from browsers (Fetch standard, "CORS protocol"). No page may call unless its origin is allowed
 * here. But a gateway or a middleware in front may allow it instead, so every response to a page names the fields that
 * a script may read: without the permission that means nothing.
 */

/** The response fields that a script may read, beyond those that the standard always lets it read. */
const exposedFields =
  "Accept-Patch, Allow, Deprecation, ETag, Idempotent-Replayed, Link, Location, Retry-After, Sunset, " +
  "WWW-Authenticate, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id";

/** A list of field names (RFC 9110, 5.1). */
const fieldNames = /^[!#$%&'*+.^_`|~\w-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~\w-]+)*$/;

/** Chromium keeps the response to a preflight no longer than this. */
const preflightMaxAgeSeconds = 7_200;

export class Cors {
  readonly #origins: ReadonlySet<string>;

  /** @param origins as browsers send them in `Origin`, or "*" */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /**
   * Returns no fields if the origin is not allowed: the browser then does not send the request. An allowed page may
   * send whatever it asks for: agents for tracing add fields of their own, and `*` does not cover `Authorization`.
   */
  preflightFields(methods: string, headers: NodeJS.Dict<string | string[]>): readonly string[] {
    const { origin, "access-control-request-headers": asked } = headers;
    return this.#allowedOrigin(origin) === undefined ? [] : [
      ...["Access-Control-Allow-Methods", methods],
      ...(typeof asked === "string" && fieldNames.test(asked) ? ["Access-Control-Allow-Headers", asked] : []),
      ...["Access-Control-Max-Age", String(preflightMaxAgeSeconds)],
      ...["Vary", "Access-Control-Request-Headers"], // Last, because Node writes the other Vary beside it.
    ];
  }

  /** Appends the fields of every response, errors included: without them a script cannot even read the status. */
  appendFields(fields: string[], method: string, headers: NodeJS.Dict<string | string[]>): void {
    const { origin } = headers;
    if (origin === undefined && this.#origins.size === 0) {
      return;
    }
    fields.push("Vary", "Origin");
    const allowed = this.#allowedOrigin(origin);
    if (allowed !== undefined) {
      fields.push("Access-Control-Allow-Origin", allowed);
    }
    if (origin !== undefined && !isPreflight(method, headers)) {
      fields.push("Access-Control-Expose-Headers", exposedFields);
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

/** Whether this is the question that a browser asks, without any key, before a request that needs permission. */
export function isPreflight(method: string, headers: NodeJS.Dict<string | string[]>): boolean {
  const { origin, "access-control-request-method": asked } = headers;
  return method === "OPTIONS" && origin !== undefined && asked !== undefined;
}
