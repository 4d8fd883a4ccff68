/**
 * Puts an answer on the wire, exactly once, whatever state the request is in.
 */

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";

import { announcesContent } from "./media-type.ts";
import type { Response } from "./response.ts";

export interface WireResponse {
  readonly status: number;
  /** All of them: name, value, name, value, … */
  readonly fields: string[];
  /** Undefined where the answer has none: 204, and whatever answers HEAD. */
  readonly content: string | Uint8Array | undefined;
}

/** The numbers of X-RateLimit-Limit, -Remaining and -Reset. */
export interface RateNumbers {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/**
 * All fields of a response: those that every response has, then its own.
 *
 * @param rate undefined on the public pages, which are not the API
 */
export function fieldsOf(response: Response, requestId: string, rate: RateNumbers | undefined): string[] {
  const { content, contentType, cacheControl, fields } = response;
  const all = ["X-Request-Id", requestId, "X-Content-Type-Options", "nosniff", "Cache-Control", cacheControl];
  if (content !== undefined) {
    all.push("Content-Type", contentType, "Content-Length", String(contentLength(content)));
  }
  if (rate !== undefined) {
    all.push("X-RateLimit-Limit", String(rate.limit), "X-RateLimit-Remaining", String(rate.remaining));
    all.push("X-RateLimit-Reset", String(rate.resetSeconds));
  }
  for (const part of fields) {
    all.push(part);
  }
  return all;
}

/** In bytes. */
export function contentLength(content: string | Uint8Array | undefined): number {
  if (content === undefined) {
    return 0;
  }
  return typeof content === "string" ? Buffer.byteLength(content) : content.length;
}

/** What is read and dropped behind an answer that did not wait for the content. */
export interface DrainBounds {
  readonly drainBytesMax: number;
  readonly drainMs: number;
}

/**
 * Sends the answer. Where the request's content has not been read, it is dropped from here on: closing a socket with
 * unread bytes resets it, and the client would lose the answer with them (RFC 9112, 9.6).
 */
export function respond(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  wire: WireResponse,
  bounds: DrainBounds,
): void {
  if (incoming.complete || !announcesContent(incoming)) {
    outgoing.writeHead(wire.status, wire.fields);
    outgoing.end(wire.content);
    return;
  }
  incoming.resume();
  if (!outgoing.shouldKeepAlive) {
    respondEarly(incoming, outgoing, wire, bounds); // At once: from then on no further request is taken.
    return;
  }
  // Content that came in one packet with the fields is complete by the next turn, and the connection can be kept.
  setImmediate(() => {
    if (outgoing.headersSent) {
      return; // By the program around us, in this turn: throwing here would end it.
    }
    if (incoming.complete) {
      outgoing.writeHead(wire.status, wire.fields);
      outgoing.end(wire.content);
    } else {
      respondEarly(incoming, outgoing, wire, bounds);
    }
  });
}

/**
 * Sends the response before the content has come, closes the sending side, and drops what still comes until the client
 * closes its side too (RFC 9112, 9.6). The response is not ended before that: Node would close the whole connection.
 */
function respondEarly(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  wire: WireResponse,
  bounds: DrainBounds,
): void {
  const { socket } = incoming;
  outgoing.shouldKeepAlive = false;
  outgoing.writeHead(wire.status, wire.fields);
  if (wire.content === undefined) {
    outgoing.flushHeaders(); // It does not say when the bytes are out, so the sending side is closed at the end.
  } else {
    outgoing.write(wire.content, () => socket.end());
  }
  const finish = (): void => {
    clearTimeout(timer);
    outgoing.end();
  };
  const timer = setTimeout(finish, bounds.drainMs);
  if (socket.readableEnded) {
    finish(); // The client has closed its side: nothing comes.
    return;
  }
  let droppedBytes = 0;
  incoming.on("data", (chunk: Uint8Array) => {
    droppedBytes += chunk.length;
    if (droppedBytes > bounds.drainBytesMax) {
      finish();
    }
  });
  incoming.once("end", finish);
  incoming.once("close", finish);
  socket.once("end", finish);
}

/**
 * The same answer as bytes, for a connection on which Node has no response to offer: damage before the fields were
 * read, or CONNECT.
 */
export function rawAnswer(wire: WireResponse): string {
  const { status, fields, content } = wire;
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let index = 0; index < fields.length; index += 2) {
    head += `${fields[index]}: ${fields[index + 1]}\r\n`;
  }
  head += `Date: ${new Date().toUTCString()}\r\nConnection: close\r\n\r\n`;
  return content === undefined ? head : head + Buffer.from(content).toString();
}
