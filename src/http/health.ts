/**
 * `/healthz`: whether the service takes requests and the store writes.
 */

import { type Response, jsonResponse } from "./response.ts";

const healthy = jsonResponse(200, '{"status":"ok"}');
const unhealthy = jsonResponse(503, '{"status":"unavailable"}');

export function healthPage(isHealthy: boolean): Response {
  return isHealthy ? healthy : unhealthy;
}
