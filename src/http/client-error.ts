/**
 * Bytes that are not a request, and requests that do not arrive in time. Node emits `clientError` and leaves the
 * connection to this code: it sends an error response, after all responses that are due, and closes the connection.
 */

import type { Socket } from "node:net";

import { type Connection, linger } from "./connection.ts";
import type { ErrorCode } from "./error-codes.ts";

/** How much of what still comes is read and dropped after the error response, and for how long. */
export interface DrainBounds {
  readonly drainBytesMax: number;
  readonly drainMs: number;
}

/** @param respond makes the whole error response, as bytes */
export function handleClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  connection: Connection | undefined,
  bounds: DrainBounds,
  respond: (code: ErrorCode) => string,
): void {
  if (connection?.failure !== undefined) {
    // The parser reports every further packet. They are dropped, up to the bound.
    if (socket.bytesRead - connection.failure.atBytes > bounds.drainBytesMax) {
      socket.destroy();
    }
    return;
  }
  const code = errorCodeOf(error);
  if (connection === undefined || code === undefined || socket.bytesRead === 0) {
    socket.destroy(); // The client reset it or never sent a byte: it does not wait for a response.
    return;
  }
  connection.failure = { code, atBytes: socket.bytesRead };
  const { request } = connection;
  if (request !== undefined && !request.incoming.complete) {
    request.failContent(code); // Its response closes the connection, since its content has not come.
    return;
  }
  connection.respondInTurn(() => {
    if (socket.writable) {
      socket.end(connection.letFollow() ? respond(code) : "");
      linger(socket, bounds.drainMs);
    }
  });
}

/** Returns undefined if the connection itself broke. */
function errorCodeOf({ code = "" }: NodeJS.ErrnoException): ErrorCode | undefined {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return "header_fields_too_large";
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return "request_timeout";
    default:
      return code.startsWith("HPE_") ? "malformed_request" : undefined;
  }
}
