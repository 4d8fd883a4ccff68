/**
 * The error responses of the pipeline's steps.
 */

import type { ErrorCode } from "../http/error-codes.ts";
import { errorResponse, jsonResponse, type Response } from "../http/response.ts";
import type { Refusal } from "../limits/limiter.ts";
import { OutcomeUnknownError, StorageUnavailableError } from "../pets/pet-store.ts";

/** Without credentials, the challenge has no error code (RFC 6750, 3). */
export const missingKey: Response = errorResponse("missing_api_key", [
  "WWW-Authenticate",
  'Bearer realm="animal-store"',
]);

/** One response for unknown, revoked, expired and malformed keys: it reveals nothing about a key (RFC 6750, 3.1). */
export const invalidKey: Response = errorResponse("invalid_api_key", [
  "WWW-Authenticate",
  'Bearer realm="animal-store", error="invalid_token"',
]);

export function overLimit({ kind, retryAfterSeconds }: Refusal): Response {
  return errorResponse(kind, ["Retry-After", String(retryAfterSeconds)]);
}

/** For a method that the route does not list. The response to `OPTIONS` lists those it has (RFC 9110, 9.3.7). */
export function otherMethod(method: string, allow: string): Response {
  return method === "OPTIONS"
    ? jsonResponse(204, undefined, ["Allow", allow])
    : errorResponse("method_not_allowed", ["Allow", allow]);
}

/** The code of an error that a store promises to throw; undefined for any other error. */
export function storeErrorCode(error: unknown): ErrorCode | undefined {
  if (error instanceof StorageUnavailableError) {
    return "storage_unavailable";
  }
  return error instanceof OutcomeUnknownError ? "outcome_unknown" : undefined;
}
