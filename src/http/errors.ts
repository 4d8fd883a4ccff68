/**
 * The table of errors. Its codes are a closed list. Code and status are for programs and fixed. The message is for
 * people: it is sent as it is, or, if each response says in its own words what was wrong, it is an example.
 */

import { bounds } from "../base/bounds.ts";

const table = {
  malformed_request: [400, "The request is not well-formed HTTP/1.1."],
  malformed_json: [400, "The body is not well-formed JSON."],
  invalid_body: [400, 'The body is not a valid NewPet: "categoryId" is missing.'],
  invalid_parameter: [400, 'The query is not valid: "limit" must be an integer from 1 to 100.'],
  invalid_idempotency_key: [
    400, "Idempotency-Key must be one header: a quoted string or a word of 1 to 255 visible ASCII characters.",
  ],
  invalid_precondition: [
    400,
    'If-Match and If-None-Match must be * or entity tags, such as "available-7". If-Match may also name a status, ' +
      'such as "available".',
  ],
  missing_api_key: [401, "Send an API key: Authorization: Bearer <API_KEY>."],
  invalid_api_key: [401, "The API key is not valid."],
  insufficient_scope: [403, "The API key is read-only: it may list and fetch animals."],
  pet_not_found: [404, "There is no animal with this id."],
  route_not_found: [404, 'There is nothing at "/pets". The addresses of the API begin with /v1/.'],
  method_not_allowed: [405, "This path does not support the method; see Allow."],
  request_timeout: [408, "The request did not arrive in time."],
  precondition_failed: [412, 'The animal is "available-7", which If-Match does not allow.'],
  body_too_large: [413, `The body is larger than ${bounds.contentBytesMax} bytes.`],
  uri_too_long: [414, `The request target is longer than ${bounds.targetBytesMax} bytes.`],
  unsupported_media_type: [415, 'Content-Type must be application/json, in UTF-8, not "text/plain".'],
  idempotency_key_reused: [422, "The Idempotency-Key was used for another request."],
  precondition_required: [
    428,
    'If-Match is required: send the ETag or the status that the animal must have, such as "available", or * for any.',
  ],
  rate_limited: [429, "The requests of the minute are used up. Wait 60 seconds."],
  too_many_failures: [
    429, "Too many requests without a valid key came from this address in a minute. Wait 60 seconds.",
  ],
  key_banned: [429, "The API key is banned because it went on after 429 responses. Wait 300 seconds."],
  header_fields_too_large: [
    431, `Over ${bounds.fieldCountMax} headers, or over ${bounds.fieldBytesMax} bytes with the target.`,
  ],
  internal_error: [500, "Something went wrong inside the service."],
  storage_unavailable: [503, "The service cannot do this now; nothing was stored. Try again later."],
  outcome_unknown: [
    503, "This may have been stored. Retry with the same Idempotency-Key, or list the animals first.",
  ],
} as const;

export type ErrorCode = keyof typeof table;

export const errorTable: Readonly<Record<ErrorCode, readonly [status: number, message: string]>> = table;

/** The content of an error response. `message` replaces the message of the table. */
export function errorJson(code: ErrorCode, message: string = errorTable[code][1]): string {
  return `{"code":"${code}","message":${JSON.stringify(message)},"status":${errorTable[code][0]}}`;
}
