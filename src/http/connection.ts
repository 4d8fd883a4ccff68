/**
 * One connection: its last request, and whether a further one may follow.
 *
 * Responses are sent in the order of the requests. So once the response to the last request has been sent, all have
 * been.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

import type { ErrorCode } from "./error-codes.ts";
import { mayBeFollowed, onceWhole } from "./upgrade.ts";

/** The part of a request's state that its connection needs. */
export interface OpenRequest {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse | undefined;
  /** Content that is being read, or will be, cannot be read for this reason. */
  readonly failContent: (code: ErrorCode) => void;
}

/** `close` wins over `keep-alive` (RFC 9112, 9.3), which Node obeys only in HTTP/1.1. */
const closeOption = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

export class Connection {
  /** The last request; undefined if its response has been sent and keeps the connection. */
  request: OpenRequest | undefined = undefined;
  /** The `bytesRead` at the first bytes that are not a request, or come too late: nothing after them is handled. */
  failedAtBytes: number | undefined = undefined;
  /** The `bytesRead` at which the next request begins; known only while every request carries `Upgrade`. */
  #nextAtBytes: number | undefined = 0;
  /** Whether the last request came before the response to the one before it had been sent. */
  #isPipelined = false;
  /** Whether the last response says `Connection: close` only because the server stops. */
  #closesToStop = false;

  /**
   * Whether a further response is sent: not after one that says `Connection: close` (RFC 9112, 9.6). If it says so only
   * because the server stops, and has not been sent yet, a later response says it instead.
   */
  mayFollow(): boolean {
    const outgoing = this.request?.outgoing;
    if (outgoing === undefined || outgoing.shouldKeepAlive) {
      return true;
    }
    if (outgoing.headersSent || !this.#closesToStop) {
      return false;
    }
    outgoing.shouldKeepAlive = true;
    return true;
  }

  /** Whether a further request is handled. */
  isOpen(): boolean {
    return this.failedAtBytes === undefined && this.mayFollow();
  }

  /** A request has arrived: decides whether its response closes the connection. */
  begin(incoming: IncomingMessage, outgoing: ServerResponse, isStopping: boolean): void {
    const { connection, upgrade } = incoming.headers;
    if (connection !== undefined && closeOption.test(connection)) {
      outgoing.shouldKeepAlive = false;
    }
    this.#closesToStop = false;
    this.#isPipelined = !this.isAnswered();
    const startBytes = this.#nextAtBytes;
    this.#nextAtBytes = undefined;
    if (upgrade !== undefined) {
      onceWhole(incoming, () => this.#closeIfFollowed(incoming, outgoing, startBytes));
    }
    if (isStopping) {
      this.#closeToStop(outgoing);
    }
  }

  /** The server stops: the response under way closes the connection. Calls `then` when it has been sent. */
  stop(then: () => void): void {
    const outgoing = this.request?.outgoing;
    if (outgoing !== undefined && !this.isAnswered()) {
      this.#closeToStop(outgoing);
      this.afterResponse(then);
    }
  }

  isAnswered(): boolean {
    const outgoing = this.request?.outgoing;
    return outgoing === undefined || isSent(outgoing) || outgoing.destroyed || outgoing.writableFinished;
  }

  /**
   * Whether Node may count the connection as idle although its last response has not been sent: because the response is
   * written and waits for its client, or because its request was pipelined.
   */
  seemsIdle(): boolean {
    return !this.isAnswered() && (this.#isPipelined || this.request?.outgoing?.writableEnded === true);
  }

  /** Calls `then` when the operating system has taken the last response, and so every response before it. */
  afterResponse(then: () => void): void {
    const outgoing = this.request?.outgoing;
    if (outgoing === undefined || this.isAnswered()) {
      then();
    } else {
      outgoing.once("close", then);
    }
  }

  #closeToStop(outgoing: ServerResponse): void {
    this.#closesToStop ||= outgoing.shouldKeepAlive;
    outgoing.shouldKeepAlive = false;
  }

  #closeIfFollowed(incoming: IncomingMessage, outgoing: ServerResponse, startBytes: number | undefined): void {
    if (startBytes === undefined || mayBeFollowed(incoming, startBytes)) {
      outgoing.shouldKeepAlive = false;
      this.#closesToStop = false;
    } else {
      this.#nextAtBytes = incoming.socket.bytesRead;
    }
  }
}

/** From Node 24 on, `writableFinished` becomes true only a turn later. */
function isSent({ writableEnded, socket }: ServerResponse): boolean {
  return writableEnded && socket?.writableLength === 0;
}

/** Gives the client time to read the last response before unread bytes reset the connection (RFC 9112, 9.6). */
export function linger(socket: Duplex, drainMs: number): void {
  if (socket.destroyed) {
    return; // "close" does not come again: the timer would keep the process alive.
  }
  const timer = setTimeout(() => socket.destroy(), drainMs);
  socket.once("close", () => clearTimeout(timer));
}
