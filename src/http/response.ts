/**
 * A response as handlers return it: only what is particular to it. The responder adds the fields of every response.
 */

import { type ErrorCode, errorJson, errorKinds } from "./errors.ts";

export interface Response {
  readonly status: number;
  /** Fields of this response alone: name, value, name, value, … as `writeHead` takes them. */
  readonly fields: readonly string[];
  /** UTF-8 JSON. Undefined: no content, as with 204. */
  readonly content: string | Uint8Array | undefined;
}

const noFields: readonly string[] = [];

export function jsonResponse(
  status: number,
  content: string | Uint8Array | undefined,
  fields: readonly string[] = noFields,
): Response {
  return { status, fields, content };
}

/** An error response. `message` replaces the message of the table. */
export function errorResponse(code: ErrorCode, fields: readonly string[] = noFields, message?: string): Response {
  return { status: errorKinds[code].status, fields, content: errorJson(code, message) };
}
