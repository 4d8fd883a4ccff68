/** A response, as handlers make it. */

import { STATUS_CODES } from "node:http";

import { type ErrorCode, errorJson, errorTable } from "./errors.ts";

export interface Effect {
  /** The animal's id. */
  readonly pet: number;
  /** The status that it was changed to. */
  readonly to?: string | undefined;
}

export interface Response {
  readonly status: number;
  /** Fields of this response alone: name, value, name, value, … as `writeHead` takes them. */
  readonly fields: readonly string[];
  readonly content: string | Uint8Array | undefined;
  readonly contentType: string;
  readonly cacheControl: string;
  /** The code of an error response, for the request log. */
  readonly code: ErrorCode | undefined;
  /** What was done to an animal, if anything, for the request log. */
  readonly effect?: Effect | undefined;
}

const noFields: readonly string[] = [];

/** @param content UTF-8 JSON */
export function jsonResponse(
  status: number,
  content: string | Uint8Array | undefined,
  fields: readonly string[] = noFields,
  code?: ErrorCode,
): Response {
  const contentType = "application/json; charset=utf-8";
  return { status, fields, content, contentType, cacheControl: "no-store", code, effect: undefined };
}

/** A 503 says to try again after a second. @param message replaces the table's */
export function errorResponse(code: ErrorCode, fields: readonly string[] = noFields, message?: string): Response {
  const [status] = errorTable[code];
  const allFields = status === 503 ? [...fields, "Retry-After", "1"] : fields;
  return jsonResponse(status, errorJson(code, message), allFields, code);
}

/** The first lines of a response: the status line, and the fields. */
export function headLines(status: number, fields: readonly string[]): string {
  let lines = status === 200 ? "HTTP/1.1 200 OK\r\n" : `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let index = 0; index < fields.length; index += 2) {
    lines += `${fields[index]}: ${fields[index + 1]}\r\n`;
  }
  return lines;
}

/** The last response of a connection, as bytes, after something that Node could not read as a request. */
export function responseBytes({ status, content }: Response, fields: readonly string[]): string {
  const head = `${headLines(status, fields)}Date: ${new Date().toUTCString()}\r\nConnection: close\r\n\r\n`;
  return content === undefined ? head : head + Buffer.from(content).toString();
}
