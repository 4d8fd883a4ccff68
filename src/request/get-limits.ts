/**
 * getLimits: `GET /limits`.
 */

import { type Response, jsonResponse } from "../http/response.ts";
import type { ApiKey } from "../keys/key.ts";
import type { Quotas, RateStatus } from "../limits/limiter.ts";

export interface LimitsRequest {
  readonly key: ApiKey;
  readonly quotas: () => Quotas;
}

/**
 * 200 with the plan and both quotas of the key, this request included. The X-RateLimit fields of a response describe
 * only one of them.
 */
export function getLimits({ key, quotas }: LimitsRequest): Response {
  const { minute, day } = quotas();
  return jsonResponse(200, JSON.stringify({ plan: key.plan.name, minute: quota(minute), day: quota(day) }));
}

/** `reset` is in Unix seconds, as in `X-RateLimit-Reset`. */
function quota({ limit, remaining, resetSeconds }: RateStatus): object {
  return { limit, remaining, reset: resetSeconds };
}
