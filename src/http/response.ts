/**
 * A response as handlers make it, with its own fields only. `request/responder.ts` adds the fields that every response
 * has, and `respond.ts` sends it.
 */

import { type ErrorCode, errorJson, errorKinds } from "./error-codes.ts";

export interface Response {
  readonly status: number;
  /** Fields of this response alone: name, value, name, value, … as `writeHead` takes them. */
  readonly fields: readonly string[];
  /** Undefined if the response has none, as with 204. */
  readonly content: string | Uint8Array | undefined;
  /** Of the content; not sent without it. */
  readonly contentType: string;
  /** The value of `Cache-Control`. */
  readonly cacheControl: string;
}

const noFields: readonly string[] = [];

/** @param content UTF-8 JSON */
export function jsonResponse(
  status: number,
  content: string | Uint8Array | undefined,
  fields: readonly string[] = noFields,
): Response {
  return { status, fields, content, contentType: "application/json; charset=utf-8", cacheControl: "no-store" };
}

/** An error response. `message` replaces the message of the table. */
export function errorResponse(code: ErrorCode, fields: readonly string[] = noFields, message?: string): Response {
  return jsonResponse(errorKinds[code].status, errorJson(code, message), fields);
}
