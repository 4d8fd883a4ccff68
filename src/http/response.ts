/** A response: as handlers make it, and how it is sent exactly once, whatever the state of its request. */

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import type { MaybePromise } from "../base/when-ready.ts";
import { closeAfterResponse } from "./closing.ts";
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

/**
 * Drops content of the request that has not been read. If it came in one packet with the fields it is complete by the
 * next turn, and the connection can be kept.
 * @param fields all of them, in the place of the response's own
 */
export function sendResponse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: Response,
  fields: string[],
): MaybePromise<void> {
  if (isWhole(incoming) || !announcesContent(incoming)) {
    write(incoming, outgoing, response, fields);
    return;
  }
  incoming.resume();
  return eventLoopTurn().then(() => {
    if (!outgoing.headersSent) { // Otherwise an embedding program has sent a response of its own in this turn.
      outgoing.shouldKeepAlive &&= isWhole(incoming);
      write(incoming, outgoing, response, fields);
    }
  });
}

/** An imitated request, such as one of Fastify's `inject`, has no `complete`; but it ends. */
function isWhole({ complete, readableEnded }: IncomingMessage): boolean {
  return complete || readableEnded;
}

/** Whether the request is chunked, or declares a length other than 0 (RFC 9112, 6.3). */
function announcesContent({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/**
 * In two cases Node closes a connection by itself, and yet handles what follows on it: after a response to HTTP/1.0
 * that has no Content-Length, as 204 and 304 have none, and after one to `Expect` that no 100 preceded.
 */
function write(incoming: IncomingMessage, outgoing: ServerResponse, response: Response, fields: string[]): void {
  const { httpVersion, headers, method, socket } = incoming;
  if (!outgoing.shouldKeepAlive) {
    closeAfterResponse(socket);
  } else if (httpVersion === "1.0" || headers.expect !== undefined) {
    fields.push("Connection", "keep-alive");
  }
  outgoing.writeHead(response.status, fields);
  outgoing.end(method === "HEAD" ? undefined : response.content);
}

/** The same response as bytes, for which Node has no response object: to a client error, and to CONNECT. */
export function responseBytes({ status, content }: Response, fields: readonly string[]): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let index = 0; index < fields.length; index += 2) {
    head += `${fields[index]}: ${fields[index + 1]}\r\n`;
  }
  head += `Date: ${new Date().toUTCString()}\r\nConnection: close\r\n\r\n`;
  return content === undefined ? head : head + Buffer.from(content).toString();
}
