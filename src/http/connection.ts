/**
 * One connection: its requests are handled one after another, because only safe ones may be handled at the same time
 * (RFC 9112, 9.3.2), and responses that wait for earlier ones would fill the memory.
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
  /** The request that is handled; undefined if its response has been sent and keeps the connection. */
  request: OpenRequest | undefined = undefined;
  /** The first bytes that are not a request, or come too late, and the `bytesRead` at them: what follows is dropped. */
  failure: { readonly code: ErrorCode; readonly atBytes: number } | undefined = undefined;
  readonly #socket: Duplex;
  /** The steps that wait for the response under way, in their order. */
  readonly #waiting: (() => void)[] = [];
  /** How many of these steps send a response. While there are any, nothing more is read. */
  #dueCount = 0;
  /** Whether a listener for the end of the response under way is set, which runs the first step. */
  #isAwaiting = false;
  /** The `bytesRead` at which the next request begins; known only while every request carries `Upgrade`. */
  #nextAtBytes: number | undefined = 0;
  /** The response that says `Connection: close` only because the server stops. */
  #closingToStop: ServerResponse | undefined = undefined;

  constructor(socket: Duplex) {
    this.#socket = socket;
    // Node resumes the socket at the end of each message, and begins to read with this event. If `pause` was called
    // before the event, the socket counts as paused already and does not emit "pause" again, so Node would read on.
    socket.on("resume", () => {
      if (this.#dueCount > 0) {
        socket.pause();
        socket.emit("pause");
      }
    });
  }

  /**
   * Returns whether a further response can be sent: not after one that says `Connection: close` (RFC 9112, 9.6). If the
   * one under way says so only because the server stops, and has not been sent, the further one will say it instead.
   */
  letFollow(): boolean {
    const outgoing = this.request?.outgoing;
    if (outgoing === undefined || outgoing.shouldKeepAlive) {
      return true;
    }
    if (outgoing.headersSent || outgoing !== this.#closingToStop) {
      return false;
    }
    outgoing.shouldKeepAlive = true;
    return true;
  }

  /** The same for a response to a further request: none is handled after bytes that are no request. */
  letRequestFollow(): boolean {
    return this.failure === undefined && this.letFollow();
  }

  /** A request has arrived: decides whether its response closes the connection. */
  begin(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { connection, upgrade } = incoming.headers;
    if (connection !== undefined && closeOption.test(connection)) {
      outgoing.shouldKeepAlive = false;
    }
    const startBytes = this.#nextAtBytes;
    this.#nextAtBytes = undefined;
    if (upgrade !== undefined) {
      onceWhole(incoming, () => this.#closeIfFollowed(incoming, outgoing, startBytes));
    }
  }

  /** The server stops: the last response closes the connection. Calls `then` when it has been sent. */
  stop(then: () => void): void {
    if (!this.#isFree()) {
      this.closeToStop(this.request?.outgoing);
      this.#inTurn(then);
    }
  }

  /** The server stops: `outgoing`, the response under way, closes the connection if no other one is due. */
  closeToStop(outgoing: ServerResponse | undefined): void {
    if (this.#dueCount === 0 && outgoing?.shouldKeepAlive === true && !outgoing.headersSent) {
      outgoing.shouldKeepAlive = false;
      this.#closingToStop = outgoing;
    }
  }

  isAnswered(): boolean {
    const outgoing = this.request?.outgoing;
    return outgoing === undefined || isSent(outgoing) || outgoing.destroyed || outgoing.writableFinished;
  }

  /** Whether Node may count it as idle although a response is due: if that is not taken yet, or waits for its turn. */
  seemsIdle(): boolean {
    return this.#dueCount > 0 || (!this.isAnswered() && this.request?.outgoing?.writableEnded === true);
  }

  /** Calls `step`, which responds, when all earlier responses have been sent. Until then nothing more is read. */
  respondInTurn(step: () => void): void {
    if (this.#isFree()) {
      step();
      return;
    }
    this.#dueCount += 1;
    this.#socket.pause();
    this.#inTurn(() => {
      this.#dueCount -= 1;
      if (this.#dueCount === 0) {
        this.#socket.resume();
      }
      step();
    });
  }

  /** Calls `step` when the operating system has taken all responses that are due. */
  #inTurn(step: () => void): void {
    this.#waiting.push(step);
    this.#advance();
  }

  #isFree(): boolean {
    return this.#waiting.length === 0 && this.isAnswered();
  }

  #advance(): void {
    while (this.#waiting.length > 0 && !this.#isAwaiting) {
      if (this.isAnswered()) {
        this.#waiting.shift()?.();
      } else {
        this.#isAwaiting = true;
        this.request?.outgoing?.once("close", () => {
          this.#isAwaiting = false;
          this.#advance();
        });
      }
    }
  }

  #closeIfFollowed(incoming: IncomingMessage, outgoing: ServerResponse, startBytes: number | undefined): void {
    if (startBytes === undefined || mayBeFollowed(incoming, startBytes)) {
      outgoing.shouldKeepAlive = false;
      this.#closingToStop = undefined;
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
  const timer = setTimeout(() => socket.destroy(), drainMs).unref();
  socket.once("close", () => clearTimeout(timer));
}
