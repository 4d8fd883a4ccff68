/**
 * The responses of the OpenAPI description: which fields each carries, and which error codes belong to which status.
 * Statuses and messages come from the table that answers (http/errors.ts), so an example is what a client really gets.
 */

import { type ErrorCode, errorJson, errorKinds } from "../http/errors.ts";
import { headerReferences, optionalHeaders } from "./fields.ts";
import type { Json, JsonObject } from "./schemas.ts";

const everyFields: readonly string[] = ["X-Request-Id", "X-Content-Type-Options", "Cache-Control"];
const contentFields: readonly string[] = ["Content-Length"];
const limitFields: readonly string[] = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
const corsFields: readonly string[] = ["Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Vary"];

/** What the answers of the route of getPet carry beside the rest (contract, section 3). */
export const retirementFields: readonly string[] = ["Deprecation", "Sunset", "Link-successor"];

const fieldsByStatus: Readonly<Record<number, readonly string[]>> = {
  401: ["WWW-Authenticate"],
  405: ["Allow"],
  415: ["Accept-Encoding"],
  429: ["Retry-After"],
};

export interface ResponseShape {
  readonly description: string;
  /** The media type object; none where the response has no content. */
  readonly content?: JsonObject | undefined;
  /** Beside those that every answer of the API has. */
  readonly fields?: readonly string[];
  /** Beside those, at times. */
  readonly optionalFields?: readonly string[];
  /** The public pages have no rate fields. */
  readonly isPublicPage?: boolean;
  /** An answer to HEAD: the length that GET would send, and no content. */
  readonly isHead?: boolean;
}

export function response(shape: ResponseShape): JsonObject {
  const hasLength = shape.content !== undefined || shape.isHead === true;
  const keys = [
    ...everyFields,
    ...(hasLength ? contentFields : []),
    ...(shape.isPublicPage === true ? [] : limitFields),
    ...corsFields,
    ...(shape.fields ?? []),
  ];
  const headers = { ...headerReferences(keys), ...optionalHeaders(shape.optionalFields ?? []) };
  const { description, content } = shape;
  if (content === undefined || shape.isHead === true) {
    return { description, headers };
  }
  return { description, headers, content: { "application/json": content } };
}

/** One response for the codes given, which must all have its status. */
function errorResponse(status: number, codes: readonly ErrorCode[], shape: Partial<ResponseShape>): JsonObject {
  const narrowed = { properties: { code: { enum: codes }, status: { const: status } } };
  const examples = Object.fromEntries(codes.map((code) => [code, { value: JSON.parse(errorJson(code)) as Json }]));
  return response({
    ...shape,
    description: codes.map((code) => `\`${code}\`: ${errorKinds[code].message}`).join("\n\n"),
    content: { schema: { allOf: [{ $ref: "#/components/schemas/Error" }, narrowed] }, examples },
    fields: [...(fieldsByStatus[status] ?? []), ...(shape.fields ?? [])],
  });
}

type SharedName = "RequestTimeout" | "UriTooLong" | "HeaderFieldsTooLarge" | "Unauthorized" | "TooManyRequests";

/** What can happen to any request before its route is known (contract, section 2), but 400, which differs. */
const sharedResponses: Readonly<Record<SharedName, readonly [ErrorCode, ...ErrorCode[]]>> = {
  RequestTimeout: ["request_timeout"],
  UriTooLong: ["uri_too_long"],
  HeaderFieldsTooLarge: ["header_fields_too_large"],
  Unauthorized: ["missing_api_key", "invalid_api_key"],
  TooManyRequests: ["rate_limited", "key_banned"],
};

/** The response components: each as it is for HEAD and for all other methods. */
export function responseComponents(): JsonObject {
  const responses = Object.entries(sharedResponses).flatMap(([name, codes]) => {
    const { status } = errorKinds[codes[0]];
    return [
      [name, errorResponse(status, codes, {})],
      [`${name}ToHead`, errorResponse(status, codes, { isHead: true })],
    ] as const;
  });
  return Object.fromEntries(responses);
}

/** The responses to what cannot be read as a request, without 400. Public pages have these, too. */
export function unreadableResponses(isHead: boolean): JsonObject {
  return references(["RequestTimeout", "HeaderFieldsTooLarge"], isHead);
}

/** The responses to a request that comes no further than to its key, its quota or its length. */
export function refusedResponses(isHead: boolean): JsonObject {
  return references(["Unauthorized", "UriTooLong", "TooManyRequests"], isHead);
}

function references(names: readonly SharedName[], isHead: boolean): JsonObject {
  return Object.fromEntries(
    names.map((name) => [
      String(errorKinds[sharedResponses[name][0]].status),
      { $ref: `#/components/responses/${name}${isHead ? "ToHead" : ""}` },
    ]),
  );
}

export interface ErrorShape {
  readonly isHead?: boolean;
  /** Fields of the answers that are given once the route is known; `malformed_request` is found before. */
  readonly routeFields?: readonly string[];
  readonly isPublicPage?: boolean;
}

/** The responses for these codes, one a status. */
export function errorResponses(codes: readonly ErrorCode[], shape: ErrorShape = {}): JsonObject {
  const { isHead = false, routeFields = [], isPublicPage = false } = shape;
  const statuses = [...new Set(codes.map((code) => errorKinds[code].status))];
  const responses = statuses.map((status) => {
    const ofStatus = codes.filter((code) => errorKinds[code].status === status);
    const fields = ofStatus.includes("malformed_request") ? [] : routeFields;
    return [String(status), errorResponse(status, ofStatus, { isHead, fields, isPublicPage })] as const;
  });
  return Object.fromEntries(responses);
}
