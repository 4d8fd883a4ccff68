/**
 * An answer as the rooms above hand it down: what is particular to it. The fields that every answer has, and how it
 * gets onto the socket, are not their business.
 */

import { type ErrorCode, errorJson, errorKinds } from "./errors.ts";

export interface Response {
  readonly status: number;
  /** Fields of this answer alone: name, value, name, value, … as `writeHead` takes them. */
  readonly fields: readonly string[];
  /** UTF-8 JSON; none with 204. */
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

/** An error answer. `message` makes the table's more precise. */
export function errorResponse(code: ErrorCode, fields: readonly string[] = noFields, message?: string): Response {
  return { status: errorKinds[code].status, fields, content: errorJson(code, message) };
}
