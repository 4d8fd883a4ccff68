/**
 * The header fields that mean something to a caller, as header objects of the OpenAPI description. Fields of HTTP
 * itself, of caches and of CORS are left out.
 */

import { deprecationField, sunsetField } from "../pets/get.ts";
import type { JsonObject } from "./schemas.ts";

interface FieldDescription {
  readonly description: string;
  readonly schema: JsonObject;
  /** A field without an example has the constant of its schema. */
  readonly example?: string | number;
  /** Not in every response that lists it. */
  readonly isOptional?: true;
}

const fields: Readonly<Record<string, FieldDescription>> = {
  "X-Request-Id": {
    description: "The id of this request in the service's log: the client's own, if it sent a valid one, or a new one.",
    schema: { type: "string", pattern: "^[A-Za-z0-9._-]{1,64}$" },
    example: "5f0c6a17b2d9",
  },
  "X-RateLimit-Limit": {
    description: "The limit in effect: requests per window of the quota, minute or day, that has fewer left.",
    schema: { type: "integer", minimum: 1 },
    example: 60,
  },
  "X-RateLimit-Remaining": {
    description: "Requests left, after this one; 0 during a ban.",
    schema: { type: "integer", minimum: 0 },
    example: 59,
  },
  "X-RateLimit-Reset": {
    description: "Unix seconds: when that quota is full again, or a ban ends.",
    schema: { type: "integer", format: "int64", minimum: 0 },
    example: 1795262460,
  },
  "Retry-After": {
    description: "Seconds to wait: a retry after that time is served (RFC 9110, 10.2.3).",
    schema: { type: "integer", minimum: 1 },
    example: 42,
  },
  "WWW-Authenticate": {
    description: "The scheme to authenticate with; with `error` if the key is not valid or may not do this (RFC 6750).",
    schema: {
      type: "string",
      enum: ["", ', error="invalid_token"', ', error="insufficient_scope"'].map(
        (error) => `Bearer realm="animal-store"${error}`,
      ),
    },
    example: 'Bearer realm="animal-store"',
  },
  Location: {
    description: "The address of the new animal.",
    schema: { type: "string", format: "uri-reference", pattern: "/pets/[1-9][0-9]*$" },
    example: "/v1/pets/1",
  },
  "Idempotent-Replayed": {
    description: "Present if an earlier request with this `Idempotency-Key` added the animal, and this one added none.",
    schema: { type: "string", const: "true" },
    isOptional: true,
  },
  "Link-next": {
    description: "The next page, with the same `limit` and `status`; absent on the last page (RFC 8288).",
    schema: { type: "string", pattern: '^<[^>]*/pets\\?([^>]*&)?after=[0-9]+>; rel="next"$' },
    example: '</v1/pets?limit=2&after=2>; rel="next"',
    isOptional: true,
  },
  "Link-successor": {
    description: "The operation that replaces this one (RFC 5829, 3.2; RFC 8288).",
    schema: { type: "string", pattern: '^<[^>]*/pets>; rel="successor-version"$' },
    example: '</v1/pets>; rel="successor-version"',
  },
  Deprecation: {
    description: "Since when the operation is deprecated (RFC 9745).",
    schema: { type: "string", const: deprecationField },
  },
  Sunset: {
    description: "When the operation is scheduled for removal (RFC 8594).",
    schema: { type: "string", const: sunsetField },
  },
};

/** The header components, by the keys that `headerReferences` refers to. */
export function headerComponents(): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).map(([key, { isOptional, ...field }]) => [key, { required: isOptional !== true, ...field }]),
  );
}

/** The `headers` of a response with these fields. A key may name one of several uses: `Link-next` is a `Link`. */
export function headerReferences(keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    keys.map((key) => [key.startsWith("Link-") ? "Link" : key, { $ref: `#/components/headers/${key}` }]),
  );
}
