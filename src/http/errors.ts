/**
 * The table of errors. Its codes are a closed list. Code and status are for programs and fixed. The message is for
 * people, and a response may make it more precise.
 */

import { bounds } from "../base/bounds.ts";

const table = {
  malformed_request: { status: 400, message: "The request is not well-formed HTTP/1.1." },
  malformed_json: { status: 400, message: "The content is not well-formed JSON in UTF-8." },
  invalid_body: { status: 400, message: "The content is not valid." },
  invalid_parameter: { status: 400, message: "A query parameter is not valid." },
  invalid_idempotency_key: {
    status: 400,
    message: "Idempotency-Key must be one field: a quoted string or a word of 1 to 255 visible ASCII characters.",
  },
  invalid_precondition: {
    status: 400,
    message: 'If-Match and If-None-Match must be * or statuses in quotation marks, as in If-Match: "available".',
  },
  missing_api_key: { status: 401, message: "Send an API key: Authorization: Bearer <API_KEY>." },
  invalid_api_key: { status: 401, message: "The API key is not valid." },
  insufficient_scope: { status: 403, message: "The API key is read-only: it may list and fetch animals." },
  pet_not_found: { status: 404, message: "There is no animal with this id." },
  route_not_found: { status: 404, message: "There is nothing at this path." },
  method_not_allowed: { status: 405, message: "This path does not support the method; see Allow." },
  request_timeout: { status: 408, message: "The request did not arrive in time." },
  precondition_failed: { status: 412, message: "The animal does not have a status that the request allows; see ETag." },
  body_too_large: { status: 413, message: `The content is larger than ${bounds.contentBytesMax} bytes.` },
  uri_too_long: { status: 414, message: `The request target is longer than ${bounds.targetBytesMax} bytes.` },
  unsupported_media_type: {
    status: 415,
    message: "Content-Type must be application/json, in UTF-8, and the content must have no content coding.",
  },
  idempotency_key_reused: { status: 422, message: "The Idempotency-Key was used for another request." },
  precondition_required: {
    status: 428,
    message: 'Send the status that the animal may have now in If-Match, as in If-Match: "available"; * stands for any.',
  },
  rate_limited: { status: 429, message: "The rate limit is used up; wait as long as Retry-After says." },
  key_banned: {
    status: 429,
    message: "The API key is banned because it went on after 429 responses; wait as long as Retry-After says.",
  },
  header_fields_too_large: {
    status: 431,
    message: `Target and header fields together exceed ${bounds.fieldBytesMax} bytes.`,
  },
  internal_error: { status: 500, message: "Something went wrong inside the service." },
  storage_unavailable: { status: 503, message: "The service cannot do this now; nothing was stored. Try again later." },
  outcome_unknown: {
    status: 503,
    message: "This may have been stored. Retry with the same Idempotency-Key, or list the animals first.",
  },
};

export type ErrorCode = keyof typeof table;

export const errorTable: Readonly<Record<ErrorCode, { readonly status: number; readonly message: string }>> = table;

/** The content of an error response. `message` replaces the message of the table. */
export function errorJson(code: ErrorCode, message?: string): string {
  return message === undefined ? (defaultJson.get(code) ?? "") : jsonOf(code, message);
}

/** Made once, so that many error responses cost little. */
const defaultJson: ReadonlyMap<string, string> = new Map(
  // The keys of the table are codes, which the type of Object.entries forgets.
  Object.entries(errorTable).map(([code, { message }]) => [code, jsonOf(code as ErrorCode, message)]),
);

function jsonOf(code: ErrorCode, message: string): string {
  return `{"code":"${code}","message":${JSON.stringify(message)},"status":${errorTable[code].status}}`;
}

/** What an error of Node about a connection means; undefined if the connection broke. */
export function errorCodeOf({ code = "" }: NodeJS.ErrnoException): ErrorCode | undefined {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return "header_fields_too_large";
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return "request_timeout";
    default:
      return code.startsWith("HPE_") ? "malformed_request" : undefined;
  }
}
