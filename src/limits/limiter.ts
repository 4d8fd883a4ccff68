/**
 * The limiter as the pipeline knows it. One counts in this process (memory-limiter.ts), another one in a database that
 * several processes share (postgres/postgres-limiter.ts).
 */

import type { Plan } from "./plans.ts";

/** What the X-RateLimit fields say. */
export interface RateStatus {
  readonly limit: number;
  /** 0 if a request would be refused. */
  readonly remaining: number;
  /** Unix seconds, rounded up: when the window is full again, or, if a request would be refused, when one is served. */
  readonly resetSeconds: number;
}

export type Allowed = RateStatus & { readonly kind: "allowed" };

export type Refusal = RateStatus & {
  readonly kind: "rate_limited" | "key_banned" | "too_many_failures";
  /** What ends at the reset: an empty window of the key, its ban, or the window of the client's address. */
  readonly waitsFor: "minute" | "day" | "ban" | "address";
  /** Whole seconds, rounded up, at least 1. */
  readonly retryAfterSeconds: number;
};

export type Served = Allowed & {
  /** Both windows as the request left them. */
  readonly quotas: () => Quotas;
};

export type Decision =
  | Served
  | Refusal
  /** Nothing could be decided: the limits cannot be reached. The status is the last one known. */
  | (RateStatus & { readonly kind: "unavailable" });

/** Both windows of a key. A closed one is full, and its reset is what it would be if it opened now. */
export interface Quotas {
  readonly minute: RateStatus;
  readonly day: RateStatus;
}

/** A method that has to wait returns a promise. None fails if the limits cannot be reached. */
export interface Limiter {
  /** Decides one request of the key, and takes its tokens or counts its refusal. */
  take(keyId: string, plan: Plan): Decision | Promise<Decision>;
  /** The status for a response that takes no token and counts no refusal. */
  peek(keyId: string, plan: Plan): RateStatus | Promise<RateStatus>;
}
