/**
 * The end of a connection. Closing a socket that has unread bytes resets it, and the client may lose the last response.
 * So the sending side is closed first, and what still comes is dropped, within bounds, until the client closes its side
 * too (RFC 9112, 9.6).
 */

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { clearTimeout, setTimeout } from "node:timers";

import type { ListenerLimits } from "./listener-limits.ts";

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

/** Node has what moves a socket's bytes as `_handle`: of a secure socket, one over that of TCP. The types lack it. */
interface MovedSocket extends Socket {
  readonly _handle?: Handle | null;
}
interface Handle {
  readonly writeQueueSize?: number;
  readonly _parent?: Handle;
}

/**
 * Cuts off a client that reads nothing of a response. The time-out of a socket would not do, because Node starts it
 * again at each byte that the client sends.
 */
export class StalledReaderWatch {
  #waitingBytes = 0;
  #stalledMs = 0;

  /** To be called every `timeoutCheckMs`. */
  check(socket: Socket, { stalledReaderMs, timeoutCheckMs }: ListenerLimits): void {
    const waitingBytes = countWaitingBytes(socket);
    this.#stalledMs = waitingBytes > 0 && waitingBytes === this.#waitingBytes ? this.#stalledMs + timeoutCheckMs : 0;
    this.#waitingBytes = waitingBytes;
    if (this.#stalledMs >= stalledReaderMs) {
      socket.destroy();
    }
  }
}

/** `writableLength` alone would stay the same while a client slowly reads a response that was written at once. */
function countWaitingBytes({ writableLength, _handle: handle }: MovedSocket): number {
  return writableLength === 0 ? 0 : (handle?.writeQueueSize ?? 0) + (handle?._parent?.writeQueueSize ?? 0);
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
