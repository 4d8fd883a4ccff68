/**
 * The fields of the service's responses, as header objects of the OpenAPI description. Left out are those that HTTP
 * itself needs and any server sends: Date, Connection, Keep-Alive; Content-Type stands as the media type.
 */

import { deprecationField, sunsetField } from "../pets/get.ts";
import type { JsonObject } from "./schemas.ts";

interface FieldDescription {
  readonly description: string;
  readonly schema: JsonObject;
  /** A field without an example has the constant of its schema. */
  readonly example?: string | number;
  /** Not on every response that lists it. */
  readonly isOptional?: true;
}

const integer: JsonObject = { type: "integer", minimum: 0 };

const fields: Readonly<Record<string, FieldDescription>> = {
  "Content-Length": { description: "Length of the content in bytes.", schema: integer, example: 57 },
  "X-Request-Id": {
    description: "Names this request in the operator's log: as the client did in this field, or else by the service.",
    schema: { type: "string", pattern: "^[A-Za-z0-9._-]{1,64}$" },
    example: "5f0c6a17b2d9-1",
  },
  "X-Content-Type-Options": {
    description: "Nothing but the media type given is to be read into the content.",
    schema: { type: "string", const: "nosniff" },
  },
  "Cache-Control": {
    description: "Answers depend on the key and on the moment: nobody may keep them.",
    schema: { type: "string", const: "no-store" },
  },
  "X-RateLimit-Limit": {
    description: "Requests a window, of the bucket that has fewer left: the minute's or the day's.",
    schema: { type: "integer", minimum: 1 },
    example: 60,
  },
  "X-RateLimit-Remaining": {
    description: "Requests left in that bucket, after this one.",
    schema: integer,
    example: 59,
  },
  "X-RateLimit-Reset": {
    description: "When that bucket is full again: seconds since 1970-01-01T00:00:00Z, rounded up.",
    schema: { type: "integer", format: "int64", minimum: 0 },
    example: 1795262460,
  },
  "Retry-After": {
    description: "Seconds to wait: a client that waits as long is served (RFC 9110, 10.2.3).",
    schema: { type: "integer", minimum: 1 },
    example: 42,
  },
  "WWW-Authenticate": {
    description: "The scheme to authenticate with, and whether a key was sent and is wrong (RFC 6750, 3).",
    schema: {
      type: "string",
      enum: ['Bearer realm="animal-store"', 'Bearer realm="animal-store", error="invalid_token"'],
    },
    example: 'Bearer realm="animal-store"',
  },
  Allow: {
    description: "The methods that this path supports (RFC 9110, 10.2.1).",
    schema: { type: "string", pattern: "^[A-Z]+(, [A-Z]+)*$" },
    example: "GET, HEAD, POST, OPTIONS",
  },
  "Accept-Encoding": {
    description: "That no content coding is taken, where the request had one (RFC 9110, 12.5.3).",
    schema: { type: "string", const: "identity" },
    isOptional: true,
  },
  Location: {
    description: "Where the created animal is.",
    schema: { type: "string", format: "uri-reference", pattern: "/pets/[1-9][0-9]*$" },
    example: "/v1/pets/1",
  },
  "Link-next": {
    description: "The next page, with the same `limit` and `status`; absent on the last one (RFC 8288).",
    schema: { type: "string", pattern: '^<[^>]*/pets\\?([^>]*&)?after=[0-9]+>; rel="next"$' },
    example: '</v1/pets?limit=2&after=2>; rel="next"',
    isOptional: true,
  },
  "Link-successor": {
    description: "What takes the place of this deprecated operation (RFC 5829, 3.2; RFC 8288).",
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
  "Access-Control-Allow-Origin": {
    description: "The origin that may read this answer, where the operator allows it (Fetch Standard, 3.3).",
    schema: { type: "string", minLength: 1 },
    example: "https://shop.example",
    isOptional: true,
  },
  "Access-Control-Expose-Headers": {
    description: "The fields that a page of that origin may read.",
    schema: { type: "string", minLength: 1 },
    example: "X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After",
    isOptional: true,
  },
  Vary: {
    description: "The answer depends on the origin of the page that asks.",
    schema: { type: "string", minLength: 1 },
    example: "Origin",
    isOptional: true,
  },
  "Access-Control-Allow-Methods": {
    description: "Response to a preflight: the methods that a page may use.",
    schema: { type: "string", minLength: 1 },
    example: "GET, HEAD, POST, OPTIONS",
    isOptional: true,
  },
  "Access-Control-Allow-Headers": {
    description: "Response to a preflight: the request fields that a page may send.",
    schema: { type: "string", minLength: 1 },
    example: "Authorization, Content-Type, X-Request-Id",
    isOptional: true,
  },
  "Access-Control-Max-Age": {
    description: "Response to a preflight: for how many seconds it may be kept.",
    schema: integer,
    example: 7200,
    isOptional: true,
  },
};

/** The header components, by the keys that `headerReferences` points at. */
export function headerComponents(): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [key, headerObject(field, field.isOptional !== true)]),
  );
}

function headerObject({ description, schema, example }: FieldDescription, required: boolean): JsonObject {
  return { description, required, schema, ...(example === undefined ? {} : { example }) };
}

/** The `headers` of a response that carries these fields. */
export function headerReferences(keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.map((key) => [nameOf(key), { $ref: `#/components/headers/${key}` }]));
}

/** The same of a response that carries them only at times, where others always do. */
export function optionalHeaders(keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([key]) => keys.includes(key))
      .map(([key, field]) => [nameOf(key), headerObject(field, false)]),
  );
}

/** One field may have several descriptions: `Link-next` is a `Link`. */
function nameOf(key: string): string {
  return key.startsWith("Link-") ? "Link" : key;
}
