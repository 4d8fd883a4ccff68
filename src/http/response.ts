/** A response, as handlers make it. */

import { STATUS_CODES } from "node:http";

import { type ErrorCode, errorJson, errorTable } from "./errors.ts";

export interface Response {
  readonly status: number;
  /** Fields of this response alone: name, value, name, value, … as `writeHead` takes them. */
  readonly fields: readonly string[];
  readonly content: string | Uint8Array | undefined;
  readonly contentType: string;
  readonly cacheControl: string;
  /** Of an error response, for the request log. */
  readonly code: ErrorCode | undefined;
}

const noFields: readonly string[] = [];

/** @param content UTF-8 JSON */
export function jsonResponse(
  status: number,
  content: string | Uint8Array | undefined,
  fields: readonly string[] = noFields,
  code?: ErrorCode,
): Response {
  return { status, fields, content, contentType: "application/json; charset=utf-8", cacheControl: "no-store", code };
}

/** @param message in the place of the table's */
export function errorResponse(code: ErrorCode, fields: readonly string[] = noFields, message?: string): Response {
  return jsonResponse(errorTable[code].status, errorJson(code, message), fields, code);
}

/** RFC 9110, 5.5, in US-ASCII. A line break would add a field, or a whole response. */
export function isFieldText(text: string): boolean {
  return !notInFields.test(text);
}

const notInFields = /[^\t\x20-\x7e]/;

/** The same response as bytes, for which Node has no response object: to a client error, and to CONNECT. */
export function responseBytes({ status, content }: Response, fields: readonly string[]): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let index = 0; index < fields.length; index += 2) {
    head += `${fields[index]}: ${fields[index + 1]}\r\n`;
  }
  head += `Date: ${new Date().toUTCString()}\r\nConnection: close\r\n\r\n`;
  return content === undefined ? head : head + Buffer.from(content).toString();
}
