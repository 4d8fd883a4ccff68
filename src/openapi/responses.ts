/**
 * The responses of the OpenAPI description. Statuses and messages come from the table of errors that the service runs
 * on, so an example is what a client receives.
 */

import { type ErrorCode, errorJson, errorKinds } from "../http/error-codes.ts";
import { headerReferences } from "./fields.ts";
import type { Json, JsonObject } from "./schemas.ts";

const everyFields = ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"] as const;

const fieldsByStatus: Readonly<Record<number, readonly string[]>> = {
  401: ["WWW-Authenticate"],
  403: ["WWW-Authenticate"],
  429: ["Retry-After"],
};

/** The errors that happen before the route is known, by their components. */
const earlyErrors = {
  MalformedRequest: ["malformed_request"],
  Unauthorized: ["missing_api_key", "invalid_api_key"],
  RequestTimeout: ["request_timeout"],
  UriTooLong: ["uri_too_long"],
  TooManyRequests: ["rate_limited", "key_banned"],
  HeaderFieldsTooLarge: ["header_fields_too_large"],
} as const;

/** The errors of every operation. Each component is a response with all its codes. */
const sharedErrors: Readonly<Record<string, readonly [ErrorCode, ...ErrorCode[]]>> = {
  ...earlyErrors,
  InternalError: ["internal_error"],
  StorageUnavailable: ["storage_unavailable"],
};

const earlyCodes: readonly ErrorCode[] = Object.values(earlyErrors).flat();
const sharedCodes: readonly ErrorCode[] = Object.values(sharedErrors).flat();

export function response(description: string, content: JsonObject, fields: readonly string[] = []): JsonObject {
  return {
    description,
    headers: headerReferences([...fields, ...everyFields]),
    content: { "application/json": content },
  };
}

/** One response for these codes, which all have its status. */
function errorResponse(status: number, codes: readonly ErrorCode[], fields: readonly string[] = []): JsonObject {
  const narrowed = { properties: { code: { enum: codes }, status: { const: status } } };
  const examples = codes.map((code) => [code, { value: JSON.parse(errorJson(code)) as Json }]);
  return response(
    codes.map((code) => `\`${code}\`: ${errorKinds[code].message}`).join("\n\n"),
    {
      schema: { allOf: [{ $ref: "#/components/schemas/Error" }, narrowed] },
      examples: Object.fromEntries(examples) as JsonObject,
    },
    [...(fieldsByStatus[status] ?? []), ...fields],
  );
}

export function responseComponents(): JsonObject {
  const responses = Object.entries(sharedErrors).map(
    ([name, codes]) => [name, errorResponse(errorKinds[codes[0]].status, codes)] as const,
  );
  return Object.fromEntries(responses);
}

/**
 * The error responses of an operation, one a status.
 *
 * @param ownCodes those beyond the errors of every operation
 * @param routeFields fields of the responses that are given once the route is known
 */
export function errorResponses(ownCodes: readonly ErrorCode[] = [], routeFields: readonly string[] = []): JsonObject {
  const codes = [...sharedCodes, ...ownCodes];
  const statuses = [...new Set(codes.map((code) => errorKinds[code].status))];
  const responses = statuses.map((status) => {
    const ofStatus = codes.filter((code) => errorKinds[code].status === status);
    const fields = ofStatus.some((code) => earlyCodes.includes(code)) ? [] : routeFields;
    const shared = fields.length === 0 ? sharedName(ofStatus) : undefined;
    const described = shared === undefined ? errorResponse(status, ofStatus, fields) : { $ref: shared };
    return [String(status), described] as const;
  });
  return Object.fromEntries(responses);
}

function sharedName(codes: readonly ErrorCode[]): string | undefined {
  const found = Object.entries(sharedErrors).find(([, shared]) => shared.join() === codes.join());
  return found === undefined ? undefined : `#/components/responses/${found[0]}`;
}
