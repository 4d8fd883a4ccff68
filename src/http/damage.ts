/**
 * Bytes that are no request, and requests that do not arrive in time: Node says so with `clientError`, and leaves the
 * connection to us. It gets an error response, after all responses that are due on it, and is closed.
 */

import type { Socket } from "node:net";

import { type Connection, linger } from "./connection.ts";
import type { ErrorCode } from "./errors.ts";
import type { DrainBounds } from "./respond.ts";

/** @param respond makes the whole error response, as bytes */
export function handleDamage(
  error: NodeJS.ErrnoException,
  socket: Socket,
  connection: Connection | undefined,
  bounds: DrainBounds,
  respond: (code: ErrorCode) => string,
): void {
  if (connection?.damagedAtBytes !== undefined) {
    // The parser reports every further packet. They are dropped, up to the bound.
    if (socket.bytesRead - connection.damagedAtBytes > bounds.drainBytesMax) {
      socket.destroy();
    }
    return;
  }
  const code = damageCode(error);
  if (connection === undefined || code === undefined || !socket.writable || socket.bytesRead === 0) {
    socket.destroy(); // Reset by the client, or never a byte sent: nobody waits for a response.
    return;
  }
  connection.damagedAtBytes = socket.bytesRead;
  const { request } = connection;
  if (request !== undefined && !request.incoming.complete) {
    request.damage?.(code); // If nobody reads the content, the response is out or on its way, and closes.
    connection.afterResponse(() => linger(socket, bounds.drainMs));
    return;
  }
  socket.pause(); // What comes before the response is out does not count towards the bound.
  connection.afterResponse(() => {
    if (socket.writable) {
      socket.end(connection.mayFollow() ? respond(code) : "");
      linger(socket, bounds.drainMs);
    }
    socket.resume();
  });
}

/** Returns undefined if the connection itself broke. */
function damageCode({ code = "" }: NodeJS.ErrnoException): ErrorCode | undefined {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return "header_fields_too_large";
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return "request_timeout";
    default:
      return code.startsWith("HPE_") ? "malformed_request" : undefined;
  }
}
