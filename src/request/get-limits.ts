/**
 * getLimits: `GET /limits`.
 */

import { type Response, jsonResponse } from "../http/response.ts";
import type { ApiKey } from "../keys/key.ts";
import type { RateStatus } from "../limits/limiter.ts";
import type { Limiter } from "../limits/limiter.ts";

export interface LimitsRequest {
  readonly key: ApiKey;
  readonly limiter: Limiter;
}

/**
 * 200 with the plan and both quotas of the key, this request included. The X-RateLimit fields of a response describe
 * only one of them.
 */
export function getLimits({ key, limiter }: LimitsRequest): Response {
  const { minute, day } = limiter.quotas(key.id, key.plan);
  return jsonResponse(200, JSON.stringify({ plan: key.plan.name, minute: quota(minute), day: quota(day) }));
}

/** `reset` is in Unix seconds, as in `X-RateLimit-Reset`. */
function quota({ limit, remaining, resetSeconds }: RateStatus): object {
  return { limit, remaining, reset: resetSeconds };
}
