/**
 * The responses of the OpenAPI description, with the header fields that mean something to a caller, without those of
 * caches or of CORS.
 */

import { type ErrorCode, errorJson, errorTable } from "../http/errors.ts";
import { patchTypes } from "../http/media-type.ts";
import { deprecationField, sunsetField } from "../request/handlers.ts";
import { petStatuses } from "../pets/pet.ts";
import { entityTag } from "../pets/precondition.ts";
import { int64, type Json, type JsonObject } from "./schemas.ts";

/** A field that a response always has if it lists it. Without an example its value is the constant of its schema. */
function field(description: string, schema: JsonObject, example?: string | number): JsonObject {
  return { required: true, description, schema, ...(example !== undefined && { example }) };
}

/** A field that an error does not have if it comes before the operation is known, whatever its status. */
function fieldOnceKnown(description: string, value: string): JsonObject {
  return { required: false, description, schema: { type: "string", const: value } };
}

/** The header components. A key may name one of several uses: `Link-next` is a `Link`. */
export const headerComponents: JsonObject = {
  "X-Request-Id": field(
    "The id of this request in the service's log: the client's own, if it sent a valid one, or a new one.",
    { type: "string", pattern: "^[A-Za-z0-9._-]{1,64}$" },
    "5f0c6a17b2d9",
  ),
  "X-RateLimit-Limit": field(
    "The limit in effect: requests per window of the quota, minute or day, that has fewer left.",
    { type: "integer", minimum: 1 },
    60,
  ),
  "X-RateLimit-Remaining": field("Requests left, after this one; 0 during a ban.", { type: "integer", minimum: 0 }, 59),
  "X-RateLimit-Reset": field(
    "Unix seconds: when that quota is full again, or a ban ends.",
    int64({ minimum: 0 }),
    1795262460,
  ),
  "Retry-After": field(
    "Seconds to wait before a retry (RFC 9110, 10.2.3); after 429 it is served then.",
    { type: "integer", minimum: 1 },
    42,
  ),
  "WWW-Authenticate": field(
    "The scheme to authenticate with; with `error` if the key is not valid or may not do this (RFC 6750).",
    {
      type: "string",
      enum: ["", ', error="invalid_token"', ', error="insufficient_scope"'].map(
        (error) => `Bearer realm="animal-store"${error}`,
      ),
    },
    'Bearer realm="animal-store"',
  ),
  Location: field(
    "The address of the new animal.",
    { type: "string", format: "uri-reference", pattern: "/pets/[1-9][0-9]*$" },
    "/v1/pets/1",
  ),
  "Idempotent-Replayed": {
    required: false,
    description: "Present if an earlier request with this `Idempotency-Key` had this result: not stored again.",
    schema: { type: "string", const: "true" },
  },
  ETag: field(
    "The status and the version of the animal. A change makes a version; no two states of an animal have one tag.",
    { type: "string", pattern: `^"(${petStatuses.join("|")})(-[1-9][0-9]*)?"$` },
    entityTag("pending", 7),
  ),
  "Accept-Patch": {
    required: false,
    description: "The media types that a change may have (RFC 5789, 3.1).",
    schema: { type: "string", const: patchTypes.join(", ") },
  },
  "Link-next": {
    required: false,
    description: "The next page, with the same `limit` and filters; absent on the last page (RFC 8288).",
    schema: { type: "string", pattern: '^<[^>]*/pets\\?([^>]*&)?after=[0-9]+>; rel="next"$' },
    example: '</v1/pets?limit=2&after=2>; rel="next"',
  },
  "Link-successor": {
    required: false,
    description: "The operation that replaces this one (RFC 5829, 3.2; RFC 8288).",
    schema: { type: "string", pattern: '^<[^>]*/pets>; rel="successor-version"$' },
    example: '</v1/pets>; rel="successor-version"',
  },
  Deprecation: fieldOnceKnown("Since when the operation is deprecated (RFC 9745).", deprecationField),
  Sunset: fieldOnceKnown("When the operation is scheduled for removal (RFC 8594).", sunsetField),
};

const everyFields = ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

const fieldsByStatus: Readonly<Record<number, readonly string[]>> = {
  401: ["WWW-Authenticate"],
  403: ["WWW-Authenticate"],
  412: ["ETag"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};

type Codes = readonly [ErrorCode, ...ErrorCode[]];

/** The errors of every operation. Each component is a response with all its codes. */
const sharedErrors: Readonly<Record<string, Codes>> = {
  MalformedRequest: ["malformed_request"],
  Unauthorized: ["missing_api_key", "invalid_api_key"],
  RequestTimeout: ["request_timeout"],
  UriTooLong: ["uri_too_long"],
  TooManyRequests: ["rate_limited", "key_banned", "too_many_failures"],
  HeaderFieldsTooLarge: ["header_fields_too_large"],
  InternalError: ["internal_error"],
  StorageUnavailable: ["storage_unavailable"],
};

/** The errors of operations that store something, listed here only so that they become components, too. */
const sharedWriteErrors: Readonly<Record<string, Codes>> = {
  ReadOnlyKey: ["insufficient_scope"],
  BodyTooLarge: ["body_too_large"],
  IdempotencyKeyReused: ["idempotency_key_reused"],
  NotStored: ["storage_unavailable", "outcome_unknown"],
};

const components = Object.entries({ ...sharedErrors, ...sharedWriteErrors });

/** The errors that are given once the operation is known, and so have its fields. */
const lateErrors = ["InternalError", "StorageUnavailable"];

/** @param content undefined if the response has none */
export function response(
  description: string,
  content: JsonObject | undefined,
  fields: readonly string[] = [],
): JsonObject {
  const headers = [...fields, ...everyFields].map((key) => [
    key.startsWith("Link-") ? "Link" : key,
    { $ref: `#/components/headers/${key}` },
  ]);
  const media = content && { content: { "application/json": content } };
  return { description, headers: Object.fromEntries(headers), ...media };
}

/** One response for these codes, which all have its status. */
export function errorResponse(
  codes: readonly ErrorCode[],
  status: number,
  fields: readonly string[] = [],
): JsonObject {
  const narrowed = { properties: { code: { enum: codes }, status: { const: status } } };
  const examples = codes.map((code) => [code, { value: JSON.parse(errorJson(code)) as Json }]);
  return response(
    codes.map((code) => `\`${code}\``).join(", "), // The examples have the messages.
    { schema: { allOf: [{ $ref: "#/components/schemas/Error" }, narrowed] }, examples: Object.fromEntries(examples) },
    [...(fieldsByStatus[status] ?? []), ...fields],
  );
}

export const responseComponents: JsonObject = Object.fromEntries(
  components.map(([name, codes]) => [name, errorResponse(codes, statusOf(codes[0]))]),
);

/**
 * The error responses of an operation, one a status: those of every operation and its own. A response with the codes of
 * a component, in their order, and without fields of the operation, is a reference to it.
 * @param operationFields fields of the responses that are given once the operation is known
 */
export function errorResponses(
  ownCodes: readonly ErrorCode[] = [],
  operationFields: readonly string[] = [],
): JsonObject {
  const statuses = new Set([...Object.values(sharedErrors).flat(), ...ownCodes].map(statusOf));
  const responses = Array.from(statuses, (status) => {
    const shared = Object.entries(sharedErrors).find(([, codes]) => statusOf(codes[0]) === status);
    const [name, sharedCodes] = shared ?? ["", []];
    const own = ownCodes.filter((code) => statusOf(code) === status);
    const codes = [...sharedCodes, ...own];
    const fields = own.length > 0 || lateErrors.includes(name) ? operationFields : [];
    const component = components.find(([, others]) => fields.length === 0 && others.join() === codes.join());
    const reference = component && { $ref: `#/components/responses/${component[0]}` };
    return [status, reference ?? errorResponse(codes, status, fields)];
  });
  return Object.fromEntries(responses);
}

function statusOf(code: ErrorCode): number {
  return errorTable[code][0];
}
