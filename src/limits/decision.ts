/**
 * What a limit says about one request (contract, section 5). Which fields it becomes stands in fields.ts.
 */

export interface Decision {
  readonly kind: "allowed" | "rate_limited" | "key_banned";
  /** `X-RateLimit-Limit`: the quota of the bucket that is reported. */
  readonly limit: number;
  /** `X-RateLimit-Remaining`: tokens left in it after this request; 0 on every refusal. */
  readonly remaining: number;
  /** `X-RateLimit-Reset`: Unix seconds, rounded up, when it is full again, or when a refused client will be served. */
  readonly resetSeconds: number;
  /** `Retry-After`: whole seconds, rounded up, at least 1; 0 where allowed. */
  readonly retryAfterSeconds: number;
}

/** One bucket of a key. */
export type RateStatus = Pick<Decision, "limit" | "remaining" | "resetSeconds">;
