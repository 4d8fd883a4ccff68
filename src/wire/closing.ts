/**
 * The end of a connection. Closing a socket that has unread bytes resets it, and the client may lose the last response.
 * So the sending side is closed first, and what still comes is dropped, within bounds, until the client closes its side
 * too (RFC 9112, 9.6).
 */

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { clearTimeout, setTimeout } from "node:timers";

/** What is read and dropped after the last response of a connection, and for how long. */
export const drainBytesMax = 1_048_576;
export const drainMs = 2_000;

/** As Node keeps it. The types lack it. */
interface ParsedSocket extends Socket {
  readonly parser?: { onIncoming: typeof dropRest } | null;
}

/** No further request is parsed: a packet may have 2,600, and Node would make objects of each. */
export function stopParsing(socket: ParsedSocket | undefined): void {
  if (socket?.parser) {
    socket.parser.onIncoming = dropRest;
  }
}

/** Returns what tells Node's parser that the rest of the packet is not HTTP. */
function dropRest(incoming: IncomingMessage & { upgrade?: boolean }): number {
  incoming.upgrade = false; // Or Node would destroy the connection, or emit "connect".
  return 2;
}

/**
 * Gives a time-out to a socket with waiting output, at a periodic look at all: `server.setTimeout` takes 3 % of each
 * request's time, and Node may remove the time-out at the next request. If the client has read anything meanwhile, Node
 * begins another one instead of emitting it.
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
