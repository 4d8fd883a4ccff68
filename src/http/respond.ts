/**
 * Puts an answer on the wire, exactly once, whatever state the request is in.
 */

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";

import { decimal } from "../decimal.ts";
import { announcesContent } from "./media-type.ts";

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
 * The fields that every answer has (contract, section 4): name, value, name, value, … Its own are appended to them.
 *
 * @param rate undefined on the public pages, which are not the API
 */
export function fieldsOf(
  requestId: string,
  content: string | Uint8Array | undefined,
  rate: RateNumbers | undefined,
): string[] {
  // One literal where it matters: an array that grows field by field is copied several times, for every request.
  const fields =
    content === undefined
      ? ["X-Request-Id", requestId, "X-Content-Type-Options", "nosniff", "Cache-Control", "no-store"]
      : [
          "Content-Type",
          "application/json; charset=utf-8",
          "Content-Length",
          String(contentLength(content)),
          "X-Request-Id",
          requestId,
          "X-Content-Type-Options",
          "nosniff",
          "Cache-Control",
          "no-store",
        ];
  if (rate !== undefined) {
    fields.push(
      "X-RateLimit-Limit",
      String(rate.limit),
      "X-RateLimit-Remaining",
      decimal(rate.remaining),
      "X-RateLimit-Reset",
      String(rate.resetSeconds),
    );
  }
  return fields;
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
