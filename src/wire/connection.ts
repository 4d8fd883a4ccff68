/**
 * One connection: its requests are handled one after another, because only safe ones may be handled at the same time
 * (RFC 9112, 9.3.2), and responses that wait for earlier ones would fill the memory.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers";

import { closeInStages, takeNoMore } from "./closing.ts";
import { type ErrorCode, errorCodeOf } from "../http/errors.ts";
import type { RequestHandler } from "../http/exchange.ts";
import { NodeExchange } from "./node-exchange.ts";
import { holdContent, memoryBytes } from "./waiting-request.ts";

/** `close` wins over `keep-alive` (RFC 9112, 9.3), which Node obeys only in HTTP/1.1. */
const closeOption = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

/** How many requests of a connection wait for their turn. The one after them is the last of its connection. */
const waitingMax = 100;
/** About how much memory the requests that wait on all connections may take together. */
const allWaitingBytesMax = 50_000_000;

export class Connection {
  readonly #socket: Socket;
  readonly #handler: RequestHandler;
  readonly #all: { readonly size: number };
  /** Undefined if its response has been sent and keeps the connection. */
  #request: NodeExchange | undefined = undefined;
  /** What waits for the response under way; each sends a response. Meanwhile nothing more is read. */
  readonly #waiting: (() => void)[] = [];
  /** Of the memory that the requests in it take, while there are any. */
  #waitingBytes = 0;
  /** Whether a request that arrives is handled: not after one that closes the connection, nor after a failure. */
  #takesMore = true;
  #failure: ErrorCode | undefined = undefined;
  #isStopping = false;
  /** The response that says `Connection: close` only because the server stops. */
  #closingToStop: ServerResponse | undefined = undefined;

  constructor(socket: Socket, handler: RequestHandler, all: { readonly size: number }) {
    this.#socket = socket;
    this.#handler = handler;
    this.#all = all;
    // Node resumes the socket at the end of each message, and begins to read with this event. If `pause` was called
    // before the event, the socket counts as paused already and does not emit "pause" again, so Node would read on.
    socket.on("resume", () => {
      if (this.#waiting.length > 0) {
        socket.pause();
        socket.emit("pause");
      }
    });
  }

  /**
   * A request has arrived. The service offers no other protocol, so it ignores `Upgrade` (RFC 9110, 7.8). But Node may
   * have dropped what came behind it in one packet, so its response closes the connection.
   */
  take(incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void {
    if (!this.#takesMore || !this.#mayFollow()) {
      return;
    }
    const { connection, upgrade } = incoming.headers;
    const mustWait = this.#mustWait();
    if (
      upgrade !== undefined ||
      (mustWait && this.#isLastToWait(incoming)) ||
      (connection !== undefined && closeOption.test(connection))
    ) {
      outgoing.shouldKeepAlive = false;
    }
    if (!outgoing.shouldKeepAlive) {
      this.#takeNoMore();
    }
    const step = (): void => this.#handle(incoming, outgoing, expectsContinue);
    this.#inTurn(mustWait ? holdContent(incoming, step) : step);
  }

  /** A request with CONNECT has arrived. Node leaves the socket to this code. */
  connect(incoming: IncomingMessage): void {
    if (this.#takesMore && this.#mayFollow()) {
      this.#inTurn(() => this.#handler.onRequest(new NodeExchange(incoming, undefined)));
    }
  }

  /**
   * What has come is no request, or it comes too late. The error is the last response, after all that are due.
   * @param fieldsMs how long after the first byte of a request Node reports that its fields come too late
   */
  fail(error: NodeJS.ErrnoException, fieldsMs: number): void {
    if (this.#failure !== undefined) {
      return; // The parser reports every further packet.
    }
    const code = errorCodeOf(error);
    if (code === undefined || this.#socket.bytesRead === 0) {
      this.#socket.destroy(); // The client reset it or never sent a byte: it does not wait for a response.
      return;
    }
    this.#failure = code;
    const mayFollow = this.#takesMore && this.#mayFollow();
    this.#takeNoMore();
    if (this.#request?.incoming.complete === false) {
      this.#request.failContent(code); // Its response closes the connection, since its content has not come.
    } else if (mayFollow) {
      const ageMs = code === "request_timeout" ? fieldsMs : 0;
      const respond = this.#handler.onClientError(code, this.#socket.remoteAddress, ageMs);
      this.#inTurn(() => this.#sendLast(respond()));
    }
  }

  stop(): void {
    this.#isStopping = true;
    if (this.#request?.outgoing !== undefined) {
      this.#closeToStop(this.#request.outgoing);
    }
  }

  /** Whether a response is being made or sent; that to CONNECT, which is the last, does not count. */
  owesResponse(): boolean {
    const outgoing = this.#request?.outgoing;
    return outgoing !== undefined && !isSent(outgoing) && !outgoing.destroyed && !outgoing.writableFinished;
  }

  /** Whether Node may count it as idle although a response is due, being sent, or not yet read by the client. */
  seemsIdle(): boolean {
    const outgoing = this.#request?.outgoing;
    return (
      this.#waiting.length > 0 ||
      (outgoing?.writableEnded === true && (!outgoing.shouldKeepAlive || this.owesResponse()))
    );
  }

  /** @param incoming is added to those that wait */
  #isLastToWait(incoming: IncomingMessage): boolean {
    this.#waitingBytes = (this.#waiting.length === 0 ? 0 : this.#waitingBytes) + memoryBytes(incoming);
    return this.#waiting.length >= waitingMax || this.#waitingBytes * this.#all.size >= allWaitingBytesMax;
  }

  #handle(incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void {
    if (this.#isStopping) {
      this.#closeToStop(outgoing);
    }
    this.#request = new NodeExchange(incoming, outgoing, expectsContinue);
    this.#handler.onRequest(this.#request);
    if (this.#failure !== undefined && !incoming.complete) {
      this.#request.failContent(this.#failure); // It failed while the request waited for its turn.
    }
    if (outgoing.shouldKeepAlive && !this.owesResponse()) {
      this.#request = undefined; // Holding it costs 2 % in garbage collection.
    }
  }

  /**
   * Whether a further response can be sent: not after one that says `Connection: close` (RFC 9112, 9.6). One that will
   * say so only because the server stops leaves that to the further one.
   */
  #mayFollow(): boolean {
    const outgoing = this.#request?.outgoing;
    return (
      outgoing === undefined ||
      outgoing.shouldKeepAlive ||
      (outgoing === this.#closingToStop && !outgoing.headersSent)
    );
  }

  #takeNoMore(): void {
    this.#takesMore = false;
    takeNoMore(this.#socket);
  }

  /** `outgoing`, the response under way, closes the connection if no other one is due. */
  #closeToStop(outgoing: ServerResponse): void {
    if (this.#waiting.length === 0 && outgoing.shouldKeepAlive && !outgoing.headersSent) {
      outgoing.shouldKeepAlive = false;
      this.#closingToStop = outgoing;
    }
  }

  #sendLast(bytes: string): void {
    if (this.#socket.writable) {
      this.#socket.write(bytes, () => closeInStages(this.#socket));
    }
  }

  #mustWait(): boolean {
    return this.#waiting.length > 0 || this.owesResponse();
  }

  /** Calls `step`, which responds, when the operating system has taken all responses that are due. */
  #inTurn(step: () => void): void {
    if (!this.#mustWait()) {
      step();
      return;
    }
    const outgoing = this.#request?.outgoing;
    if (outgoing !== undefined && outgoing === this.#closingToStop && !outgoing.headersSent) {
      outgoing.shouldKeepAlive = true;
    }
    this.#waiting.push(step);
    this.#socket.pause();
    if (this.#waiting.length === 1) {
      this.#awaitAnswer();
    }
  }

  /** Goes on in a later turn, so that connections with many requests each take turns with new connections. */
  #awaitAnswer(): void {
    this.#request?.outgoing?.once("close", () => setImmediate(() => this.#advance()));
  }

  #advance(): void {
    while (this.#waiting.length > 0) {
      if (this.owesResponse()) {
        this.#awaitAnswer();
        return;
      }
      const step = this.#waiting.shift();
      if (this.#waiting.length === 0) {
        this.#socket.resume();
      }
      if (this.#mayFollow() && !this.#socket.destroyed) {
        step?.();
      }
    }
  }
}

/** From Node 24 on, `writableFinished` becomes true only a turn later. */
function isSent({ writableEnded, socket }: ServerResponse): boolean {
  return writableEnded && socket?.writableLength === 0;
}
