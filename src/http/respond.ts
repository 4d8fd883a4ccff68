/**
 * Sends a response exactly once, whatever the state of its request.
 */

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import { bounds } from "../base/bounds.ts";
import { announcesContent } from "./media-type.ts";
import type { MaybePromise } from "../base/when-ready.ts";

export interface WireResponse {
  readonly status: number;
  /** All fields: name, value, name, value, … */
  readonly fields: string[];
  /** Undefined with 204 and 304, and in response to HEAD. */
  readonly content: string | Uint8Array | undefined;
}

/**
 * Sends the response. Content of the request that has not been read is dropped: closing a socket with unread bytes
 * resets it, and the client would lose the response (RFC 9112, 9.6).
 */
export function respond(incoming: IncomingMessage, outgoing: ServerResponse, wire: WireResponse): MaybePromise<void> {
  if (isWhole(incoming) || !announcesContent(incoming)) {
    writeHead(incoming, outgoing, wire);
    outgoing.end(wire.content);
    return;
  }
  incoming.resume();
  // Content that came in one packet with the fields is complete by the next turn, and the connection can be kept.
  return eventLoopTurn().then(() => {
    if (outgoing.headersSent) {
      return; // An embedding program has sent a response of its own in this turn.
    }
    if (isWhole(incoming)) {
      writeHead(incoming, outgoing, wire);
      outgoing.end(wire.content);
    } else {
      respondEarly(incoming, outgoing, wire);
    }
  });
}

/** An imitated request, such as one of Fastify's `inject`, has no `complete`; but it ends. */
function isWhole({ complete, readableEnded }: IncomingMessage): boolean {
  return complete || readableEnded;
}

/**
 * In two cases Node closes a connection by itself, and yet handles what follows on it: after a response to HTTP/1.0
 * that has no Content-Length, as 204 and 304 have none, and after one to `Expect` that no 100 preceded.
 */
function writeHead(incoming: IncomingMessage, outgoing: ServerResponse, { status, fields }: WireResponse): void {
  const { httpVersion, headers } = incoming;
  if (outgoing.shouldKeepAlive && (httpVersion === "1.0" || headers.expect !== undefined)) {
    fields.push("Connection", "keep-alive");
  }
  outgoing.writeHead(status, fields);
}

/**
 * Sends the response before the content has come, closes the sending side, and drops what still comes until the client
 * closes its side too (RFC 9112, 9.6). The response is not ended before that: Node would close the whole connection.
 */
function respondEarly(incoming: IncomingMessage, outgoing: ServerResponse, wire: WireResponse): void {
  const { socket } = incoming;
  outgoing.shouldKeepAlive = false;
  outgoing.writeHead(wire.status, wire.fields);
  if (wire.content === undefined) {
    outgoing.flushHeaders(); // It does not report when the bytes are sent: the end closes the sending side.
  } else {
    outgoing.write(wire.content, () => outgoing.socket?.end());
  }
  const finish = (): void => {
    clearTimeout(timer);
    outgoing.end();
  };
  const timer = setTimeout(finish, bounds.drainMs);
  if (socket.readableEnded) {
    finish(); // The client has closed its side: no more content arrives.
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

/** The same response as bytes, for which Node has no response object: to a client error, and to CONNECT. */
export function rawResponse(wire: WireResponse): string {
  const { status, fields, content } = wire;
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let index = 0; index < fields.length; index += 2) {
    head += `${fields[index]}: ${fields[index + 1]}\r\n`;
  }
  head += `Date: ${new Date().toUTCString()}\r\nConnection: close\r\n\r\n`;
  return content === undefined ? head : head + Buffer.from(content).toString();
}
