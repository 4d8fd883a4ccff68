/**
 * `/healthz`: whether the service takes requests and the store writes (contract, section 8).
 */

import { type Answer, answer } from "./response.ts";

const healthy = answer(200, '{"status":"ok"}');
const unhealthy = answer(503, '{"status":"unavailable"}');

export function healthPage(isHealthy: boolean): Answer {
  return isHealthy ? healthy : unhealthy;
}
