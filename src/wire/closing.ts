/**
 * The end of a connection. Closing a socket that has unread bytes resets it, and the client may lose the last response.
 * So the sending side is closed first, and what still comes is dropped, within bounds, until the client closes its side
 * too (RFC 9112, 9.6).
 */

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { clearTimeout, setTimeout } from "node:timers";

/** How many bytes are read and dropped after the last response of a connection, and for how long. */
export const drainBytesMax = 1_048_576;
export const drainMs = 2_000;

/** Node stores the parser of an HTTP connection on its socket. The types lack it. */
interface ParsedSocket extends Socket {
  readonly parser?: { onIncoming: typeof dropRest } | null;
}

/** No further request is parsed: one packet may hold thousands, and Node would make objects for each. */
export function stopParsing(socket: ParsedSocket | undefined): void {
  if (socket?.parser) {
    socket.parser.onIncoming = dropRest;
  }
}

/** Returns the value that makes Node's parser take the rest of the packet for something that is not HTTP. */
function dropRest(incoming: IncomingMessage & { upgrade?: boolean }): number {
  incoming.upgrade = false; // Or Node would destroy the connection, or emit "connect".
  return 2;
}

/**
 * Called periodically for every socket: starts a time-out if output is still unsent. `server.setTimeout` would take 3 %
 * of each request's time, and Node may remove its time-out at the next request. If the client reads anything before the
 * time-out ends, Node starts it again instead of emitting `timeout`.
 */
export function cutOffStalledReader(socket: Socket, stalledReaderMs: number): void {
  if (socket.writableLength > 0 && socket.timeout !== stalledReaderMs) {
    socket.setTimeout(stalledReaderMs);
  }
}

/** The next response is the last one. Node calls `destroySoon` when it has been sent. */
export function closeAfterResponse(socket: Socket | undefined): void {
  if (socket !== undefined) {
    stopParsing(socket);
    socket.destroySoon = () => lingeringClose(socket);
  }
}

export function lingeringClose(socket: Socket): void {
  stopParsing(socket);
  socket.end();
  const timer = setTimeout(() => socket.destroy(), drainMs).unref();
  socket.once("close", () => clearTimeout(timer));
  const droppedFrom = socket.bytesRead;
  socket.on("data", () => {
    if (socket.bytesRead - droppedFrom > drainBytesMax) {
      socket.destroy();
    }
  });
  socket.resume();
}
